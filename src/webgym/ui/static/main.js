// The page: where one is stands in the address, what happens comes by the stream, and both are shown.
import { $ } from './dom.js'
import { Samples } from './charts.js'
import { Figures } from './figures.js'
import { Grid } from './grid.js'
import { List } from './list.js'
import { Panel } from './panel.js'

const CHARTS = [['spark-eph', 1, 'passed', 0], ['spark-sps', 2, 'navigating', 0], ['spark-model', 3, 'model', 1], ['spark-browser', 4, 'executing', 1]]

const place = () => new URLSearchParams(location.hash.slice(1))

function go(changes) {
  const next = place()
  for (const [name, value] of Object.entries(changes)) value ? next.set(name, value) : next.delete(name)
  location.hash = next.toString()
}

const grid = new Grid($('grid'), $('cells'), $('tip'), $('said'), (id) => go({ episode: id }))
const figures = new Figures((kinds) => grid.show(kinds))
const panel = new Panel($('panel'), () => go({ episode: '' }))
const list = new List(go, (id) => go({ episode: id }))
const samples = new Samples()
let listed = null

$('to-monitor').addEventListener('click', () => go({ view: '' }))
$('to-episodes').addEventListener('click', () => go({ view: 'episodes' }))

function arrive() {
  const now = place()
  const episodes = now.get('view') === 'episodes'
  $('monitor').hidden = episodes
  $('episodes').hidden = !episodes
  $('to-monitor').toggleAttribute('aria-current', !episodes)
  $('to-episodes').toggleAttribute('aria-current', episodes)
  const chosen = /^[0-9a-f]{32}$/.test(now.get('episode') ?? '') ? now.get('episode') : null
  if (chosen) panel.open(chosen)
  else if (panel.id) {
    panel.close()
    if (!episodes) $('grid').focus({ preventScroll: true, focusVisible: false })
  }
  grid.choose(chosen)
  list.choose(chosen)
  const wanted = episodes ? ['outcome', 'reward', 'website', 'page'].map((name) => now.get(name) ?? '').join('\n') : null
  if (wanted !== null && wanted !== listed) list.show(now, chosen)
  listed = wanted
  if (!episodes) {
    grid.relayout()
    charts()
  }
}

function charts() {
  for (const [canvas, column, colour, top] of CHARTS) samples.draw($(canvas), column, colour, top)
}

let head = null
function apply(said, whole) {
  head = said.head
  figures.show(head)
  if (whole) {
    grid.replace(said.named)
    samples.replace(said.samples)
  } else {
    grid.name(said.named)
    grid.change(said.cells)
    grid.remove(said.gone)
    samples.add(said.samples)
  }
  grid.paint()
  if (whole || said.samples.length) charts()
  linked(head.live ? 'live' : '', head.live ? 'live' : 'recorded')
  const open = panel.id && said.named.concat(said.cells ?? []).some(([key]) => grid.cells.get(key)?.id === panel.id)
  if (open) panel.refresh()
}

function linked(kind, text) {
  $('link').className = `link ${kind}`
  if ($('link').textContent !== text) $('link').textContent = text
}

const stream = new EventSource('/api/stream')
stream.addEventListener('snapshot', (e) => apply(JSON.parse(e.data), true))
stream.addEventListener('delta', (e) => apply(JSON.parse(e.data), false))
stream.addEventListener('error', () => linked('lost', 'no connection'))
window.addEventListener('hashchange', arrive)
window.addEventListener('resize', charts)
arrive()
