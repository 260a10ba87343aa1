// Enlarges the framed task. A transform, not CSS zoom: the document inside keeps its own coordinates.
(() => {
  'use strict';
  const zoom = document.currentScript.dataset.zoom;
  const frame = document.querySelector('iframe');
  const fit = () => {
    const scale = zoom === 'fit' ? Math.min(innerWidth / frame.width, innerHeight / frame.height) : Number(zoom);
    frame.style.transform = `scale(${scale})`;
  };
  addEventListener('resize', fit);
  fit();
})();
