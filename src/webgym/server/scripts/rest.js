// Telling when the page has come to rest, and what it says of itself then.

// A document has its named images and forms as properties, before its own: one called `images` would hide all of them.
const getter = (kind, property) => Object.getOwnPropertyDescriptor(kind.prototype, property).get;
const imagesOf = getter(Document, 'images'), fontsOf = getter(Document, 'fonts');
const animationsOf = Document.prototype.getAnimations, boxOf = Element.prototype.getBoundingClientRect;

const inView = (box) =>
  box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;

// A transition or a finite animation a person would watch to its end, if that end is near.
const moving = (left) => {
  for (const animation of animationsOf.call(document).slice(0, 200)) {
    if (animation.playState !== 'running' || !animation.effect) continue;
    const timing = animation.effect.getComputedTiming();
    if (timing.endTime === Infinity || animation.timeline !== document.timeline) continue;
    const rest = (timing.endTime - (animation.currentTime ?? 0)) / Math.abs(animation.playbackRate || 1);
    if (rest > left) continue;
    const target = animation.effect.target;
    if (target && inView(boxOf.call(target))) return Math.max(rest, 1);
  }
  return 0;
};

const imagesToCome = () => {
  const images = imagesOf.call(document);
  for (let n = 0; n < Math.min(images.length, 500); n++) {
    if (!images[n].complete && inView(boxOf.call(images[n]))) return true;
  }
  return fontsOf.call(document).status === 'loading';
};

// Whether words typed here may bring suggestions: those come after a pause, and nothing tells of them before.
const SUGGESTS = '[type=search], [list], [role=combobox], [role=searchbox], [role=search] *, [aria-autocomplete], [aria-haspopup], ' +
  '[aria-controls], [aria-owns], [aria-expanded], [autocomplete=off]';
const ASKS = /search|find|query|keyword|suggest|filter|where|city|destination|airport|address|location|\bq\b|tag/i;

const suggests = () => {
  const field = focused();
  return field && (field.matches(SUGGESTS) ||
    ASKS.test([field.name, field.id, field.className, field.placeholder, field.getAttribute('aria-label')].join(' ')));
};

// Resolves when nothing has changed for `quiet` ms, or after `cap` ms. Timers, not frames: a frame costs CPU. But one frame
// there must have been in which nothing changed: what a page does on coming into view, or frame by frame, goes on no sooner,
// and on a busy machine frames may be further apart than the quiet time.
const rest = ({ quiet, typing, cap }) => new Promise((resolve) => {
  holdCaret();
  if (typing && suggests()) quiet = typing;
  const started = performance.now();
  let last = started, changed = -1, frames = 0, clean = -1, asked = false;
  const observer = new MutationObserver(() => { last = changed = performance.now(); });
  const watch = (root) => {
    observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
    const elements = root.querySelectorAll('*');
    for (let n = 0; n < Math.min(elements.length, 3000); n++) if (elements[n].shadowRoot) watch(elements[n].shadowRoot);
  };
  watch(document);
  const askFrame = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame((begun) => setTimeout(() => {
      asked = false;
      frames++;
      if (changed < begun) clean = performance.now();
    }));
  };
  askFrame();
  const finish = (capped) => {
    observer.disconnect();
    // A page that holds the pointer would get every later click, wherever it was aimed.
    if (document.pointerLockElement) document.exitPointerLock();
    resolve({ capped });
  };
  const check = () => {
    try { look(); } catch { finish(true); } // or whoever asked would wait for ever
  };
  const look = () => {
    const now = performance.now();
    const left = cap - (now - started);
    if (left <= 0) return finish(true);
    const wait = quiet - (now - last);
    if (wait > 0.5) return setTimeout(check, Math.min(wait, left));
    if (clean < 0 || clean < changed) {
      askFrame();
      if (frames || now - started < 1000) return setTimeout(check, Math.min(10, left)); // else none will come
    } else if (now - clean < 20) return setTimeout(check, Math.min(10, left));
    const motion = moving(left);
    if (motion) { last = now; return setTimeout(check, Math.min(motion, left)); }
    if (imagesToCome()) return setTimeout(check, Math.min(50, left));
    return finish(false);
  };
  setTimeout(check, Math.min(quiet, cap));
});

// The answer, or null where asking fails: what else is asked of a page must not keep it from saying that it rests.
const attempt = (ask) => { try { return ask(); } catch { return null; } };

// A caret blinks, so two pictures of the same page would differ: it is held lit while its field has the focus, by an
// animation of the field's style, which leaves no trace in the DOM. To let go after each picture would cost two more frames
// a step. A Chromium that cannot hold it hides it.
let held = null;
const STEADY = CSS.supports('caret-animation', 'manual')
  ? { caretAnimation: ['manual', 'manual'] } : { caretColor: ['transparent', 'transparent'] };

const focusedElement = () => {
  let field = document.activeElement;
  for (let n = 0; field && n < 20; n++) {
    const inner = field.shadowRoot ? field.shadowRoot.activeElement
      : field.tagName === 'IFRAME' ? field.contentDocument?.activeElement : null;
    if (!inner) break;
    field = inner;
  }
  return field || document.documentElement;
};

const focused = () => {
  const field = focusedElement();
  return field && (field.isContentEditable || /^(INPUT|TEXTAREA)$/.test(field.tagName)) ? field : null;
};

const holdCaret = () => {
  const field = focused();
  if (held && held.effect.target === field) return;
  held?.cancel();
  held = field && field.animate(STEADY, { duration: 0, fill: 'forwards' });
};

const particulars = () => {
  holdCaret();
  watchDocuments(globalThis);
  const page = document.scrollingElement || document.documentElement;
  return {
    title: clip(document.title, 500), x: scrollX, y: scrollY, failed: location.protocol === 'chrome-error:', copied: takeCopied(),
    width: page ? page.scrollWidth : innerWidth, height: page ? page.scrollHeight : innerHeight,
  };
};
