// Runs in an isolated world of each document we look at. The page cannot see it; it must not disturb the page.
// `rest` tells when the page has come to rest, `collectMarks`, `outline` and `text` what is on it, `aim` where an element is.
globalThis.webgym ??= (() => {
  const INTERACTIVE =
    'a[href],area[href],button,input:not([type=hidden]),select,textarea,summary,option,label,video[controls],' +
    'audio[controls],[contenteditable=""],[contenteditable=true],[tabindex]:not([tabindex="-1"]),[onclick],' +
    '[role=button],[role=link],[role=checkbox],[role=radio],[role=switch],[role=tab],[role=menuitem],' +
    '[role=menuitemcheckbox],[role=menuitemradio],[role=option],[role=combobox],[role=textbox],[role=searchbox],' +
    '[role=slider],[role=spinbutton],[role=treeitem],[role=gridcell][tabindex]';
  const ROLES = {
    A: 'link', AREA: 'link', BUTTON: 'button', SELECT: 'combobox', TEXTAREA: 'textbox', SUMMARY: 'button',
    OPTION: 'option', LABEL: 'label', VIDEO: 'video', AUDIO: 'audio', IMG: 'image', NAV: 'navigation', MAIN: 'main',
    HEADER: 'banner', FOOTER: 'contentinfo', ASIDE: 'complementary', FORM: 'form', TABLE: 'table', TR: 'row',
    TH: 'columnheader', TD: 'cell', UL: 'list', OL: 'list', LI: 'listitem', H1: 'heading', H2: 'heading',
    H3: 'heading', H4: 'heading', H5: 'heading', H6: 'heading', IFRAME: 'iframe', DIALOG: 'dialog',
    PROGRESS: 'progressbar', METER: 'meter', FIELDSET: 'group', P: 'paragraph',
  };
  const INPUT_ROLES = {
    button: 'button', submit: 'button', reset: 'button', image: 'button', file: 'button', checkbox: 'checkbox',
    radio: 'radio', range: 'slider', number: 'spinbutton', search: 'searchbox',
  };
  let marked = [];
  let foreign = [];
  let overlay = null;

  const clip = (text, most) => {
    const flat = (text || '').replace(/\s+/g, ' ').trim();
    return flat.length > most ? flat.slice(0, most - 1) + '…' : flat;
  };

  const role = (element) => {
    const given = element.getAttribute('role');
    if (given) return clip(given.split(' ')[0], 40);
    if (element.tagName === 'INPUT') return INPUT_ROLES[element.type] || 'textbox';
    if (element.tagName === 'A' && !element.hasAttribute('href')) return 'generic';
    if (element.isContentEditable && element.hasAttribute('contenteditable')) return 'textbox';
    return ROLES[element.tagName] || 'generic';
  };

  // innerText lays out; textContent of a huge subtree is long: read the front only.
  const front = (element, most, hidden = false) => {
    let text = '';
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let n = 0; n < 200 && text.length < most * 2 && walker.nextNode(); n++) {
      const parent = walker.currentNode.parentElement;
      if (parent && parent !== element) {
        // The choices and the content of a field are not part of its label.
        if (/^(SCRIPT|STYLE|NOSCRIPT|TEMPLATE|OPTION|TEXTAREA)$/.test(parent.tagName)) continue;
        if (!hidden && !parent.checkVisibility({ visibilityProperty: true })) continue;
      }
      text += ' ' + walker.currentNode.data;
    }
    return text;
  };

  const name = (element, most = 120) => {
    const ids = element.getAttribute('aria-labelledby');
    if (ids) {
      const text = ids.split(/\s+/).slice(0, 8)
        .map((id) => element.getRootNode().getElementById?.(id)).filter(Boolean).map((e) => front(e, most, true)).join(' ');
      if (text.trim()) return clip(text, most);
    }
    const label = element.getAttribute('aria-label');
    if (label && label.trim()) return clip(label, most);
    const tag = element.tagName;
    if (tag === 'INPUT' || tag === 'TEXTAREA' || tag === 'SELECT') {
      if (tag === 'INPUT' && /^(submit|button|reset)$/.test(element.type)) return clip(element.value || element.type, most);
      const own = element.labels && element.labels.length ? front(element.labels[0], most) : '';
      return clip(own || element.placeholder || element.title || element.name || '', most);
    }
    if (tag === 'IMG') return clip(element.alt || element.title, most);
    let text = front(element, most);
    if (!text.trim()) {
      const picture = element.querySelector('img[alt],svg title,[aria-label]');
      text = picture ? picture.getAttribute('alt') || picture.getAttribute('aria-label') || picture.textContent : '';
    }
    return clip(text.trim() ? text : element.title, most);
  };

  const states = (element) => {
    const said = [];
    if (element.disabled || element.getAttribute('aria-disabled') === 'true') said.push('disabled');
    const checked = element.getAttribute('aria-checked') ?? (/^(checkbox|radio)$/.test(element.type) ? element.checked : null);
    if (checked !== null) said.push(String(checked) === 'true' ? 'checked' : 'not checked');
    const expanded = element.getAttribute('aria-expanded');
    if (expanded !== null) said.push(expanded === 'true' ? 'expanded' : 'collapsed');
    if (element.getAttribute('aria-selected') === 'true') said.push('selected');
    if (element.tagName === 'SELECT') {
      said.push('value "' + clip([...element.selectedOptions].map((o) => o.label).join(', '), 120) + '"');
    } else if (/^(INPUT|TEXTAREA)$/.test(element.tagName) && !/^(checkbox|radio|password|submit|button|file)$/.test(element.type)) {
      if (element.value) said.push('value "' + clip(element.value, 120) + '"');
    }
    if (element === element.getRootNode().activeElement) said.push('focused');
    return said;
  };

  // ── coming to rest ──────────────────────────────────────────────────────────────────────────────────────────────

  const inView = (box) =>
    box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;

  // A transition or a finite animation a person would watch to its end, if that end is near.
  const moving = (left) => {
    for (const animation of document.getAnimations().slice(0, 200)) {
      if (animation.playState !== 'running' || !animation.effect) continue;
      const timing = animation.effect.getComputedTiming();
      if (timing.endTime === Infinity || animation.timeline !== document.timeline) continue;
      const rest = (timing.endTime - (animation.currentTime ?? 0)) / Math.abs(animation.playbackRate || 1);
      if (rest > left) continue;
      const target = animation.effect.target;
      if (target && inView(target.getBoundingClientRect())) return Math.max(rest, 1);
    }
    return 0;
  };

  const imagesToCome = () => {
    const images = document.images;
    for (let n = 0; n < Math.min(images.length, 500); n++) {
      if (!images[n].complete && inView(images[n].getBoundingClientRect())) return true;
    }
    return document.fonts.status === 'loading';
  };

  // Resolves when nothing has changed for `quiet` ms, or after `cap` ms. Timers, not frames: a frame costs CPU. But one frame
  // there must have been: what a page does on coming into view, or on its first frame, begins no sooner, and on a busy
  // machine that may be later than the quiet time.
  const rest = ({ quiet, cap }) => new Promise((resolve) => {
    const started = performance.now();
    let last = started;
    const observer = new MutationObserver(() => { last = performance.now(); });
    const watch = (root) => {
      observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
      const elements = root.querySelectorAll('*');
      for (let n = 0; n < Math.min(elements.length, 3000); n++) if (elements[n].shadowRoot) watch(elements[n].shadowRoot);
    };
    watch(document);
    let framed = false;
    requestAnimationFrame(() => setTimeout(() => {
      framed = true;
      last = Math.max(last, performance.now() - quiet + 20);
    }));
    const finish = (capped) => {
      observer.disconnect();
      // A page that holds the pointer would get every later click, wherever it was aimed.
      if (document.pointerLockElement) document.exitPointerLock();
      resolve({ capped });
    };
    const check = () => {
      const now = performance.now();
      const left = cap - (now - started);
      if (left <= 0) return finish(true);
      const wait = quiet - (now - last);
      if (wait > 0.5) return setTimeout(check, Math.min(wait, left));
      if (!framed && now - started < 1000) return setTimeout(check, Math.min(10, left));
      const motion = moving(left);
      if (motion) { last = now; return setTimeout(check, Math.min(motion, left)); }
      if (imagesToCome()) return setTimeout(check, Math.min(50, left));
      return finish(false);
    };
    setTimeout(check, Math.min(quiet, cap));
  });

  // ── looking ─────────────────────────────────────────────────────────────────────────────────────────────────────

  // A caret blinks, so two pictures of the same page would differ: it is held lit while the picture is taken, by an animation
  // of the field's style, which leaves no trace in the DOM. A Chromium that cannot hold it hides it.
  let held = null;
  const STEADY = CSS.supports('caret-animation', 'manual')
    ? { caretAnimation: ['manual', 'manual'] } : { caretColor: ['transparent', 'transparent'] };

  const hold = () => {
    free();
    let field = document.activeElement;
    for (let n = 0; field && n < 20; n++) {
      const inner = field.shadowRoot ? field.shadowRoot.activeElement
        : field.tagName === 'IFRAME' ? field.contentDocument?.activeElement : null;
      if (!inner) break;
      field = inner;
    }
    if (!field || !(field.isContentEditable || /^(INPUT|TEXTAREA)$/.test(field.tagName))) return false;
    held = field.animate(STEADY, { duration: 0, fill: 'forwards' });
    return true;
  };

  const free = () => { held?.cancel(); held = null; };

  const particulars = () => {
    const page = document.scrollingElement || document.documentElement;
    return {
      title: clip(document.title, 500), x: scrollX, y: scrollY, failed: location.protocol === 'chrome-error:', caret: hold(),
      width: page ? page.scrollWidth : innerWidth, height: page ? page.scrollHeight : innerHeight,
    };
  };

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
    collect(document, { left: 0, top: 0, right: innerWidth, bottom: innerHeight, ...view }, found, budget);
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
        if (child === overlay || child.inert || child.getAttribute('aria-hidden') === 'true') continue;
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

  const text = ({ most }) => {
    const all = document.body ? document.body.innerText : '';
    return { text: all.slice(0, most), truncated: all.length > most };
  };

  // ── aiming ──────────────────────────────────────────────────────────────────────────────────────────────────────

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
    const inside = { left: 0, top: 0, right: view.innerWidth, bottom: view.innerHeight };
    let box = visibleBox(element, inside);
    if (!box) {
      element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
      box = visibleBox(element, inside) || element.getBoundingClientRect();
    }
    const { dx, dy } = offset(element);
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
    let list = index === null ? deepest(x, y) : marked[index];
    list = list && list.closest('select') || list?.closest('label')?.control;
    if (!list || list.tagName !== 'SELECT') return 'there is no <select> at that place';
    if (list.matches(':disabled')) return 'this list is disabled';
    const wanted = [];
    for (const option of options) {
      const found = [...list.options].find((o) => clip(o.label, 2000) === clip(option, 2000)) ||
        [...list.options].find((o) => o.value === option);
      if (!found) {
        const choices = [...list.options].slice(0, 30).map((o) => clip(o.label, 60)).join(' | ');
        return `there is no option "${clip(option, 100)}"; the options are: ${choices}`;
      }
      if (found.disabled) return `the option "${clip(option, 100)}" is disabled`;
      wanted.push(found);
    }
    if (!list.multiple && wanted.length > 1) return 'this list takes one option only';
    list.focus();
    if (list.multiple) for (const o of list.options) o.selected = wanted.includes(o);
    else if (wanted.length) list.selectedIndex = wanted[0].index;
    const view = list.ownerDocument.defaultView;
    list.dispatchEvent(new view.Event('input', { bubbles: true, composed: true }));
    list.dispatchEvent(new view.Event('change', { bubbles: true }));
    return null;
  };

  const storage = () => ({ origin: location.origin, items: Object.entries(localStorage).map(([name, value]) => ({ name, value })) });

  return {
    rest, particulars, free, collectMarks, foreignFrame, foreignOrigin, draw, erase, outline, text, aim, select, storage,
  };
})();
null;
