// The page in words: an outline of what is on screen, or all its text.

const outline = ({ most, ms }) => {
  const until = performance.now() + ms;
  const view = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  const lines = [];
  let size = 0, cut = false;
  const SHOWN = /^(heading|link|button|checkbox|radio|switch|textbox|searchbox|combobox|slider|spinbutton|tab|menuitem.*|option|image|columnheader|cell|row|listitem|paragraph|navigation|main|banner|contentinfo|dialog|alert|table|list|form|progressbar|treeitem|label)$/;
  const WHOLE = /^(heading|link|button|option|tab|menuitem.*|label|columnheader|image|textbox|searchbox|combobox|checkbox|radio|slider|spinbutton|switch)$/;
  const say = (depth, text) => {
    size += text.length + depth + 1;
    if (size > most) { cut = true; return; }
    lines.push(' '.repeat(Math.min(depth, 20)) + text);
  };
  const range = document.createRange();
  const spoken = (node, seen) => {
    const text = clip(node.data, 400);
    if (!text) return '';
    const of = node.ownerDocument === document ? range : node.ownerDocument.createRange();
    of.selectNodeContents(node);
    return outside(of.getBoundingClientRect(), seen) ? '' : text;
  };
  // `seen` is the part of the screen that shows this subtree; `muted` text has been said already, as somebody's name.
  const walk = (node, depth, seen, readable, muted) => {
    for (const child of node.childNodes) {
      if (cut || performance.now() > until) { cut = true; return; }
      if (child.nodeType === Node.TEXT_NODE) {
        const text = readable && !muted && spoken(child, seen);
        if (text) say(depth, `text "${text}"`);
        continue;
      }
      if (child.nodeType !== Node.ELEMENT_NODE || /^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|HEAD|svg)$/.test(child.tagName)) continue;
      if (child.inert || child.getAttribute('aria-hidden') === 'true') continue;
      const box = child.getBoundingClientRect();
      const away = outside(box, seen);
      if (away && !child.firstElementChild && !child.shadowRoot) continue;
      const style = getComputedStyle(child);
      if (style.display === 'none' || +style.opacity === 0 && child.tagName !== 'INPUT') continue;
      const flows = style.display === 'contents' || style.overflow === 'visible' || box.height === 0;
      if (away && !flows) continue;
      const kind = role(child);
      const visible = style.visibility === 'visible';
      let deeper = depth, quiet = muted;
      if (!away && SHOWN.test(kind) && visible) {
        const whole = WHOLE.test(kind);
        // These may hold links and fields of their own, which must not disappear in their name.
        const leaf = whole && !(/^(heading|columnheader|label)$/.test(kind) && child.querySelector(INTERACTIVE));
        const label = whole ? name(child) : child.getAttribute('aria-label') || '';
        const level = kind === 'heading' ? ` level ${child.getAttribute('aria-level') || child.tagName[1]}` : '';
        const said = leaf ? states(child) : [];
        if (kind === 'label' && !leaf) quiet = true;
        else if (whole || label || !/^(paragraph|cell|row|listitem|list)$/.test(kind)) {
          say(depth, kind + level + (label ? ` "${label}"` : '') + (said.length ? ` (${said.join(', ')})` : ''));
          deeper = depth + 1;
          quiet ||= whole;
        }
        if (leaf) continue;
      }
      if (child.tagName === 'IFRAME') {
        let inner = null;
        try { inner = child.contentDocument; } catch { /* another site's */ }
        if (inner?.body) walk(inner.body, deeper, within(child), visible, false);
        continue;
      }
      const clipped = flows ? style.position === 'fixed' ? view : seen : cross(seen, box);
      walk(child.shadowRoot || child, deeper, clipped, visible, quiet);
    }
  };
  const cross = (a, b) => ({
    left: Math.max(a.left, b.left), top: Math.max(a.top, b.top),
    right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom),
  });
  const within = (frame) => ({ left: 0, top: 0, right: frame.clientWidth, bottom: frame.clientHeight });
  if (document.body) walk(document.body, 0, view, true, false);
  return { text: lines.join('\n'), truncated: cut };
};

// `innerText` of a very large page takes seconds and cannot be interrupted: such a page is read piece by piece.
const PIECE = 100000;

const text = ({ most, ms }) => {
  const until = performance.now() + ms;
  let all = '', cut = false;
  const read = (node) => {
    if (node.nodeType === Node.TEXT_NODE) { all += node.data.replace(/\s+/g, ' '); return; }
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    if (node.getElementsByTagName('*').length <= PIECE) all += node.innerText ?? '';
    else {
      for (const child of node.childNodes) {
        if (all.length > most || performance.now() > until) { cut = true; return; }
        const display = child.nodeType === Node.ELEMENT_NODE ? getComputedStyle(child).display : '';
        if (display === 'none') continue; // its `innerText` would be all its text
        read(child);
        if (display && !/^(inline|contents)/.test(display)) all += '\n';
      }
    }
  };
  if (document.body) read(document.body);
  return { text: all.slice(0, most), truncated: cut || all.length > most };
};
