// Set-of-Marks: finding what can be acted on and seen, and numbering it. The page is not changed.

let marked = [];
let foreign = [];

// A form has its fields by their names, and a document its forms: one called `parentNode` would lead its form back into itself.
// So the way through a page is asked of the prototypes.
const parentOf = getter(Node, 'parentNode'), typeOf = getter(Node, 'nodeType'), shadowOf = getter(Element, 'shadowRoot');
const firstOf = getter(Element, 'firstElementChild'), nextOf = getter(Element, 'nextElementSibling');

const above = (node) => parentOf.call(node) || (typeOf.call(node) === Node.DOCUMENT_FRAGMENT_NODE ? node.host : null);
const contains = (outer, inner) => {
  for (let node = inner; node; node = above(node)) if (node === outer) return true;
  return false;
};

const outside = (box, view) =>
  box.bottom <= view.top || box.top >= view.bottom || box.right <= view.left || box.left >= view.right;

// The part of an element's boxes inside `view`, and a point of it where the topmost thing belongs to it; null if there is none.
const sight = (element, view, whole = boxOf.call(element)) => {
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
  const hits = ([x, y]) => {
    const hit = root.elementFromPoint ? root.elementFromPoint(x, y) : null;
    return hit && (contains(element, hit) || contains(hit, element) && hit.tagName === 'LABEL' ||
      element.labels && [...element.labels].some((label) => contains(label, hit)));
  };
  const point = [[(left + right) / 2, (top + bottom) / 2], [left + 2, top + 2], [right - 2, bottom - 2]].find(hits);
  return point ? { point, box: { x: left, y: top, width: right - left, height: bottom - top } } : null;
};

const considered = (element, view, whole) => {
  if (element.matches(':disabled')) return null;
  if (element.tagName === 'OPTION' && !element.closest('select[size],select[multiple],[role=listbox]')) return null;
  // A label stands for its control; it is worth a mark of its own only where the control cannot be seen.
  if (element.tagName === 'LABEL' && (!element.control || sight(element.control, view))) return null;
  return sight(element, view, whole);
};

// Most elements of a long page are not on the screen, which is the first thing asked.
const consider = (element, whole, view, found, budget) => {
  if (outside(whole, view)) return;
  if (found.length >= budget.most) { budget.cut = true; return; }
  // A form answers with its field of that name to whatever it is asked, and cannot be marked then; the others can.
  const seen = attempt(() => considered(element, view, whole));
  if (seen) found.push({ element, box: seen.box });
};

const late = (budget) => {
  if (++budget.steps % 64 === 0 && performance.now() > budget.until) budget.cut = true;
  return budget.cut;
};

const collect = (root, view, found, budget) => {
  const listed = new Set(root.querySelectorAll(INTERACTIVE));
  for (const element of listed) {
    if (late(budget)) return;
    consider(element, boxOf.call(element), view, found, budget);
  }
  for (const frame of root.querySelectorAll('iframe,frame')) {
    if (late(budget)) return;
    inside(frame, view, found, budget);
  }
  // A page nested so deeply that we cannot follow is told as one that was not seen whole.
  if (attempt(() => { explore(root.firstElementChild, view, found, budget, listed, false); return true; }) === null) budget.cut = true;
};

// What no selector finds: shadow roots, and what only the pointer gives away (a <div> with a listener, styled
// cursor: pointer). Of a long page only what is on screen is asked, or it would cost more than the screenshot.
const explore = (first, view, found, budget, listed, pointed) => {
  for (let child = first; child; child = nextOf.call(child)) {
    if (late(budget)) return;
    const inner = firstOf.call(child), shadow = shadowOf.call(child), leaf = !inner && !shadow;
    if (leaf && (pointed || listed.has(child))) continue;
    const box = boxOf.call(child);
    const empty = box.width === 0 || box.height === 0;
    if (empty ? leaf : outside(box, view) && (leaf || child.scrollHeight <= child.clientHeight)) continue;
    if (shadow) collect(shadow, view, found, budget);
    let here = pointed || listed.has(child);
    if (!here && box.width >= 8 && box.height >= 8 && getComputedStyle(child).cursor === 'pointer') {
      consider(child, box, view, found, budget);
      here = true;
    }
    if (inner) explore(inner, view, found, budget, listed, here);
  }
};

// A frame whose document is ours to read is collected here, its boxes moved to this document's coordinates; of others
// (`foreign`) only the place is noted.
const inside = (frame, view, found, budget) => {
  if (!sight(frame, view)) return;
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

// Numbers what can be acted on; frames of other sites have to be asked themselves.
const collectMarks = ({ most, ms, first, view }) => {
  const budget = { most, until: performance.now() + ms, cut: false, steps: 0, foreign: [] };
  const found = [];
  collect(document, { left: 0, top: 0, right: innerWidth, bottom: innerHeight, ...view }, found, budget);
  if (list?.field.ownerDocument === document) collect(list.shadow, { left: 0, top: 0, right: innerWidth, bottom: innerHeight }, found, budget);
  found.sort((a, b) => a.box.y - b.box.y || a.box.x - b.box.x);
  marked = found.map((item) => item.element);
  foreign = budget.foreign.map((place) => place.frame);
  const marks = found.map(({ element, box }, n) => ({
    id: first + n, role: attempt(() => role(element)) ?? 'generic', name: attempt(() => name(element)) ?? '', box,
  }));
  return { truncated: budget.cut, marks, frames: budget.foreign.map(({ x, y, view: seen }) => ({ x, y, view: seen })) };
};

const foreignFrame = (index) => foreign[index];

const foreignOrigin = (index) => {
  const frame = foreign[index];
  if (!frame || !frame.isConnected) return null;
  const border = frame.getBoundingClientRect(), { dx, dy } = offset(frame);
  return { x: border.left + frame.clientLeft + dx, y: border.top + frame.clientTop + dy };
};
