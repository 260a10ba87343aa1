// Set-of-Marks: finding what can be acted on and seen, numbering it, drawing the numbers.

let marked = [];
let foreign = [];
let overlay = null;
const overlays = new WeakSet();
let touched = false; // whether the document changed or was scrolled since its marks were found, as far as anybody watched
const touch = () => { touched = true; };

const contains = (outer, inner) => {
  for (let node = inner; node; node = node.parentNode || node.host) if (node === outer) return true;
  return false;
};

const outside = (box, view) =>
  box.bottom <= view.top || box.top >= view.bottom || box.right <= view.left || box.left >= view.right;

// The part of an element's boxes inside `view`, if the topmost thing there belongs to it.
const visibleBox = (element, view) => {
  const whole = element.getBoundingClientRect();
  if (outside(whole, view) || whole.width < 1 || whole.height < 1) return null;
  // Fields of no opacity are how sites restyle checkboxes and file choosers: they take the click.
  const styled = element.tagName !== 'INPUT';
  if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: styled })) return null;
  // A link broken over two lines has two boxes and nothing in the middle of their union: take the largest.
  let box = whole;
  if (element.tagName === 'A') {
    for (const part of element.getClientRects()) {
      if (box === whole || part.width * part.height > box.width * box.height) box = part;
    }
  }
  const left = Math.max(box.left, view.left), top = Math.max(box.top, view.top);
  const right = Math.min(box.right, view.right), bottom = Math.min(box.bottom, view.bottom);
  if (right - left < 3 || bottom - top < 3) return null;
  const root = element.getRootNode();
  const x = (left + right) / 2, y = (top + bottom) / 2;
  const hits = (px, py) => {
    const hit = root.elementFromPoint ? root.elementFromPoint(px, py) : null;
    return hit && (contains(element, hit) || contains(hit, element) && hit.tagName === 'LABEL' ||
      element.labels && [...element.labels].some((label) => contains(label, hit)));
  };
  if (!hits(x, y) && !hits(left + 2, top + 2) && !hits(right - 2, bottom - 2)) return null;
  return { x: left, y: top, width: right - left, height: bottom - top };
};

const consider = (element, view, found, budget) => {
  if (found.length >= budget.most) { budget.cut = true; return; }
  if (element.matches(':disabled')) return;
  if (element.tagName === 'OPTION' && !element.closest('select[size],select[multiple],[role=listbox]')) return;
  // A label stands for its control; it is worth a mark of its own only where the control cannot be seen.
  if (element.tagName === 'LABEL' && (!element.control || visibleBox(element.control, view))) return;
  const box = visibleBox(element, view);
  if (box) found.push({ element, box });
};

const late = (budget) => {
  if (++budget.steps % 64 === 0 && performance.now() > budget.until) budget.cut = true;
  return budget.cut;
};

const collect = (root, view, found, budget) => {
  const listed = new Set(root.querySelectorAll(INTERACTIVE));
  for (const element of listed) {
    if (late(budget)) return;
    consider(element, view, found, budget);
  }
  for (const frame of root.querySelectorAll('iframe,frame')) {
    if (late(budget)) return;
    inside(frame, view, found, budget);
  }
  explore(root, view, found, budget, listed, false);
};

// What no selector finds: shadow roots, and what only the pointer gives away (a <div> with a listener, styled
// cursor: pointer). Of a long page only what is on screen is asked, or it would cost more than the screenshot.
const explore = (parent, view, found, budget, listed, pointed) => {
  for (let child = parent.firstElementChild; child; child = child.nextElementSibling) {
    if (late(budget)) return;
    const leaf = !child.firstElementChild && !child.shadowRoot;
    if (leaf && (pointed || listed.has(child))) continue;
    const box = child.getBoundingClientRect();
    const empty = box.width === 0 || box.height === 0;
    if (empty ? leaf : outside(box, view) && (leaf || child.scrollHeight <= child.clientHeight)) continue;
    if (child.shadowRoot) collect(child.shadowRoot, view, found, budget);
    let here = pointed || listed.has(child);
    if (!here && box.width >= 8 && box.height >= 8 && getComputedStyle(child).cursor === 'pointer') {
      consider(child, view, found, budget);
      here = true;
    }
    if (child.firstElementChild) explore(child, view, found, budget, listed, here);
  }
};

// A frame whose document is ours to read is collected here, its boxes moved to this document's coordinates; of others
// (`foreign`) only the place is noted.
const inside = (frame, view, found, budget) => {
  if (!visibleBox(frame, view)) return;
  const border = frame.getBoundingClientRect();
  const x = border.left + frame.clientLeft, y = border.top + frame.clientTop;
  const window = {
    left: Math.max(0, view.left - x), top: Math.max(0, view.top - y),
    right: Math.min(frame.clientWidth, view.right - x), bottom: Math.min(frame.clientHeight, view.bottom - y),
  };
  if (window.right <= window.left || window.bottom <= window.top) return;
  let inner = null;
  try { inner = frame.contentDocument; } catch { /* another site's */ }
  if (!inner) {
    if (budget.foreign.length < 20) budget.foreign.push({ frame, x, y, view: window });
    return;
  }
  const marks = found.length, frames = budget.foreign.length;
  collect(inner, window, found, budget);
  for (const { box } of found.slice(marks)) { box.x += x; box.y += y; }
  for (const place of budget.foreign.slice(frames)) { place.x += x; place.y += y; }
};

// Numbers what can be acted on, and draws the numbers unless frames of other sites have to be asked first.
const collectMarks = ({ most, ms, first, view, show }) => {
  const budget = { most, until: performance.now() + ms, cut: false, steps: 0, foreign: [] };
  const found = [];
  touched = false;
  collect(document, { left: 0, top: 0, right: innerWidth, bottom: innerHeight, ...view }, found, budget);
  if (list?.field.ownerDocument === document) collect(list.shadow, { left: 0, top: 0, right: innerWidth, bottom: innerHeight }, found, budget);
  found.sort((a, b) => a.box.y - b.box.y || a.box.x - b.box.x);
  marked = found.map((item) => item.element);
  foreign = budget.foreign.map((place) => place.frame);
  const marks = found.map(({ element, box }, n) => ({ id: first + n, role: role(element), name: name(element), box }));
  if (show && !foreign.length) draw(marks);
  return { truncated: budget.cut, marks, frames: budget.foreign.map(({ x, y, view: seen }) => ({ x, y, view: seen })) };
};

const foreignFrame = (index) => foreign[index];

const foreignOrigin = (index) => {
  const frame = foreign[index];
  if (!frame || !frame.isConnected) return null;
  const border = frame.getBoundingClientRect(), { dx, dy } = offset(frame);
  return { x: border.left + frame.clientLeft + dx, y: border.top + frame.clientTop + dy };
};

const HUES = [210, 0, 130, 280, 30, 330, 170, 50];

const draw = (marks) => {
  erase();
  overlay = document.createElementNS('http://www.w3.org/1999/xhtml', 'div');
  overlays.add(overlay);
  // Of no size, so that only what it draws is painted anew, not the whole screen.
  overlay.style.cssText = 'all:initial!important;position:fixed!important;left:0!important;top:0!important;width:0!important;' +
    'height:0!important;z-index:2147483647!important;pointer-events:none!important;';
  const shadow = overlay.attachShadow({ mode: 'closed' });
  const parts = ['<style>i{position:absolute;box-sizing:border-box;border:2px solid}b{position:absolute;font:bold 12px/14px ' +
    'Arial,sans-serif;color:#fff;padding:0 2px}</style>'];
  for (const { id, box } of marks) {
    const colour = `hsl(${HUES[id % HUES.length]} 80% 38%)`;
    const width = 4 + 7 * String(id).length;
    const above = box.y >= 14;
    const x = Math.max(0, Math.min(box.x, innerWidth - width));
    const y = above ? box.y - 14 : box.y;
    parts.push(`<i style="left:${box.x}px;top:${box.y}px;width:${box.width}px;height:${box.height}px;border-color:${colour}"></i>` +
      `<b style="left:${x}px;top:${y}px;background:${colour}">${id | 0}</b>`);
  }
  shadow.innerHTML = parts.join('');
  // Modal dialogs lie above every z-index, and what is put inside them may move them: only a popover lies above and apart.
  const modal = document.querySelector(':modal');
  if (modal) overlay.popover = 'manual';
  document.documentElement.append(overlay);
  if (modal) overlay.showPopover();
};

const erase = () => { overlay?.remove(); overlay = null; };

// Whether a change of the document is nothing but our marks, coming or going.
const ofMarks = ({ type, addedNodes, removedNodes }) => type === 'childList' &&
  [...addedNodes, ...removedNodes].every((node) => overlays.has(node));
