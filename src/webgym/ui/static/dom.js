// Elements from data. Text is set as text and never parsed: the page's policy refuses anything else.
const SVG = 'http://www.w3.org/2000/svg'

export const $ = (id) => document.getElementById(id)

export function el(tag, given = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue
    if (name === 'text') made.textContent = value
    else if (name === 'on') for (const [event, handler] of Object.entries(value)) made.addEventListener(event, handler)
    else made.setAttribute(name, value === true ? '' : value)
  }
  made.append(...children.filter((child) => child !== null))
  return made
}

export function say(node, text) {
  if (node.textContent !== text) node.textContent = text
}

export const colourOf = (kind) => `var(--${kind})`

// A state is told by a shape as well as by a colour: paths on a field of 12 by 12, for canvas and SVG alike.
export const SYMBOLS = {
  planned: ['M6 5.4v1.2', false],
  waiting: ['M2.6 6h.01M6 6h.01M9.4 6h.01', false],
  navigating: ['M2 6h8M6.8 2.8L10 6 6.8 9.2', false],
  screenshot: ['M1.8 3h8.4v6H1.8zM6 5.2v1.6', false],
  model: ['M6 1.2L7.4 4.6 10.8 6 7.4 7.4 6 10.8 4.6 7.4 1.2 6 4.6 4.6z', true],
  executing: ['M3.4 2.2L10 6 3.4 9.8z', true],
  saving: ['M6 1.6v5.6M3.4 4.8L6 7.4l2.6-2.6M2 10.2h8', false],
  judging: ['M6 1.6v8.8M2 3.4h8M2 3.4L.9 6.6h2.2zM10 3.4L8.9 6.6h2.2z', false],
  passed: ['M2.2 6.4l2.6 2.6 5-6', false],
  missed: ['M6 2.6a3.4 3.4 0 1 0 .01 0z', false],
  done: ['M6 3.4a2.6 2.6 0 1 0 .01 0z', true],
  failed: ['M2.8 2.8l6.4 6.4M9.2 2.8L2.8 9.2', false],
  cancelled: ['M2.6 6h6.8', false],
}

export const WORDS = {
  planned: 'planned', waiting: 'waiting', navigating: 'navigating', screenshot: 'looking', model: 'model', executing: 'executing',
  saving: 'saving', judging: 'judging', passed: 'success', missed: 'no success', done: 'not scored', failed: 'failed', cancelled: 'cancelled',
}

export function symbol(kind) {
  const [path, full] = SYMBOLS[kind]
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('viewBox', '0 0 12 12')
  svg.setAttribute('aria-hidden', 'true')
  const line = document.createElementNS(SVG, 'path')
  line.setAttribute('d', path)
  if (full) line.setAttribute('class', 'full')
  svg.append(line)
  return svg
}

export const kindOf = (doing, reward) => (doing !== 'done' ? doing : reward === 1 ? 'passed' : reward === 0 ? 'missed' : 'done')

export const count = (n) => n.toLocaleString('en')

export function brief(value) {
  return value >= 1000 ? count(Math.round(value)) : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

export function lasting(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`
  if (seconds < 59.5) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`
  const whole = Math.round(seconds), minutes = Math.floor(whole / 60)
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
