// From a mark to a pixel, from a pixel to a list; and the storage of this origin.

const offset = (element) => {
  let dx = 0, dy = 0;
  for (let view = element.ownerDocument.defaultView; view && view !== globalThis && view.frameElement; view = view.parent) {
    const border = view.frameElement.getBoundingClientRect();
    dx += border.left + view.frameElement.clientLeft;
    dy += border.top + view.frameElement.clientTop;
  }
  return { dx, dy };
};

const aim = (index) => {
  const element = marked[index];
  if (!element || !element.isConnected) return null;
  const view = element.ownerDocument.defaultView || globalThis;
  const whole = { left: 0, top: 0, right: view.innerWidth, bottom: view.innerHeight };
  const pressable = () => {
    const seen = sight(element, whole);
    if (!seen) return null;
    // What its own frame shows may be where that frame is not shown.
    const { dx, dy } = offset(element), x = seen.point[0] + dx, y = seen.point[1] + dy;
    return x >= 0 && y >= 0 && x < innerWidth && y < innerHeight ? { x, y } : null;
  };
  let point = pressable();
  if (!point) {
    element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    point = pressable();
  }
  if (point) return point;
  // Covered: whoever presses it presses what covers it, as a person would. Hidden: there is nothing to press.
  const box = element.getBoundingClientRect(), { dx, dy } = offset(element);
  if (!box.width || !box.height || !element.checkVisibility({ visibilityProperty: true })) return null;
  return { x: box.x + box.width / 2 + dx, y: box.y + box.height / 2 + dy };
};

const deepest = (x, y) => {
  let root = document, element = null;
  for (let n = 0; n < 50; n++) {
    const hit = root.elementFromPoint(x, y);
    if (!hit || hit === element) break;
    element = hit;
    if (hit.shadowRoot) { root = hit.shadowRoot; continue; }
    if (hit.tagName !== 'IFRAME') break;
    let inner = null;
    try { inner = hit.contentDocument; } catch { /* another site's */ }
    if (!inner) break;
    const border = hit.getBoundingClientRect();
    x -= border.left + hit.clientLeft;
    y -= border.top + hit.clientTop;
    root = inner;
  }
  return element;
};

const select = ({ index, x, y, options }) => {
  let field = index === null ? deepest(x, y) : marked[index];
  if (field && !(field.isConnected && field.ownerDocument.defaultView)) return 'this element is gone: look again with marks';
  field = field && field.closest('select') || field?.closest('label')?.control;
  if (!field || field.tagName !== 'SELECT') return 'there is no <select> at that place';
  if (field.matches(':disabled')) return 'this list is disabled';
  const wanted = [];
  for (const option of options) {
    const found = [...field.options].find((o) => clip(o.label, 2000) === clip(option, 2000)) ||
      [...field.options].find((o) => o.value === option);
    if (!found) {
      const choices = [...field.options].slice(0, 30).map((o) => clip(o.label, 60)).join(' | ');
      return `there is no option "${clip(option, 100)}"; the options are: ${choices}`;
    }
    if (found.disabled) return `the option "${clip(option, 100)}" is disabled`;
    wanted.push(found);
  }
  if (!field.multiple && wanted.length > 1) return 'this list takes one option only';
  field.focus();
  if (field.multiple) for (const o of field.options) o.selected = wanted.includes(o);
  else if (wanted.length) field.selectedIndex = wanted[0].index;
  closeList();
  tellChange(field);
  return null;
};

const storage = () => ({ origin: location.origin, items: Object.entries(localStorage).map(([name, value]) => ({ name, value })) });
