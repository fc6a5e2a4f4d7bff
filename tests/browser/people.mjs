// What people come for, with the keyboard only, and what they print:
//
//     node people.mjs ADDRESS PROJECT PROGRAM
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, Suite } from './browser.mjs'

// Links that are followed, fields that are filled and buttons that are pressed for one question.
const STEPS_MAX = 6
// Tab is pressed at most this often for one of them.
const TABS_MAX = 150

const suite = new Suite()
const { page, context, wrong } = await suite.open()

/** A person at the keyboard who comes to the overview. */
class Person {
  steps = 0
  tabs = 0

  /** Moves the focus to what fits, on from where it is; what has it must show that on the way. */
  async find(what, fits) {
    for (let tab = 0; tab < TABS_MAX; tab += 1) {
      await page.keyboard.press('Tab')
      this.tabs += 1
      const focus = await page.evaluate(() => {
        const element = document.activeElement
        const style = getComputedStyle(element)
        const { top, bottom, left, width } = element.getBoundingClientRect()
        const isVisible = top < innerHeight && bottom > 0 && left + width > 0 && width > 0
        const isMarked = style.outlineStyle !== 'none' && Number.parseFloat(style.outlineWidth) >= 2
        const text = (element.innerText ?? '').trim() || element.getAttribute('aria-label') || element.name || ''
        const data = { text, href: element.getAttribute('href') ?? '', name: element.getAttribute('name') ?? '' }
        return { ...data, tag: element.tagName, isVisible, isMarked }
      })
      assert(focus.tag !== 'BODY', `no ${what} on ${page.url()}`)
      assert(focus.isVisible && focus.isMarked, `the focus is not visible: ${JSON.stringify(focus)} on ${page.url()}`)
      if (fits(focus)) return
    }
    throw new Error(`no ${what} after ${TABS_MAX} steps on ${page.url()}`)
  }

  async press(what, fits) {
    await this.find(what, fits)
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    this.steps += 1
  }

  async type(name, text) {
    await this.find(`field ${name}`, (it) => it.name === name)
    await page.keyboard.type(text)
    this.steps += 1
  }

  async enter() {
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    this.steps += 1
  }

  async skip() {
    await this.find('link to the content', (it) => it.href === '#main')
    await page.keyboard.press('Enter')
  }
}

/** A question of a person, from the overview to the words that answer it. */
async function question(name, ask) {
  await suite.check(name, async () => {
    await suite.go(page, '/')
    const person = new Person()
    await ask(person)
    assert(person.steps <= STEPS_MAX, `${person.steps} steps`)
    console.log(`${name}: ${person.steps} steps, ${person.tabs} times Tab`)
  })
}
const text = () => page.locator('main').innerText()
const link = (prefix) => (it) => it.tag === 'A' && it.href.startsWith(prefix)

await question('what broke most this week', async (person) => {
  await person.skip()
  await person.press('the last 7 days', (it) => it.text === '7 days')
  await person.skip()
  const rows = page.locator('main table', { hasText: 'Severity' }).locator('tbody tr')
  const counts = await rows.locator('td:nth-child(3)').allInnerTexts()
  assert(counts.length > 0 && counts.every((count) => Number(count) <= Number(counts[0])), counts.join(' '))
  await person.press('its pattern', link('/patterns/p-'))
  assert((await page.locator('h1').innerText()).length > 0, 'it has no name')
})

await question('the fix of a given failure', async (person) => {
  await suite.go(page, '/failures')
  const fixed = page.locator('tr', { hasText: '✓ fixed' }).first().locator('td.main a')
  const id = (await fixed.getAttribute('href')).split('/').pop()
  await suite.go(page, '/')
  await person.type('q', id)
  await person.enter()
  if (new URL(page.url()).pathname === '/search') await person.press('the failure', link(`/failures/${id}`))
  await person.press('its fix', link('/fixes/x-'))
  assert((await page.locator('pre.diff').count()) > 0, 'no diff is shown')
})

await question('whether warnings help', async (person) => {
  await person.press('the page about the effect', link('/effect'))
  assert(/\d+ of \d+ warned tasks/.test(await page.locator('.verdict').innerText()), await text())
})

await question('which check is flaky', async (person) => {
  await person.press('the flaky checks', (it) => it.href === '/flakes')
  assert((await page.locator('main tbody td').first().innerText()) === 'proven', await text())
  await person.press('its pattern', link('/patterns/p-'))
  const shown = await text()
  for (const words of ['2 failures of a proven flake, not counted', 'It failed and passed over the same files']) {
    assert(shown.includes(words), shown)
  }
  assert(!/-0|in 0 weeks/.test(shown), shown)
})

await question('what codex fails at', async (person) => {
  await person.skip()
  await person.type('agent', 'codex')
  await person.enter()
  const names = await page.locator('td.main a').allInnerTexts()
  assert(names.length > 0 && new URL(page.url()).searchParams.get('agent') === 'codex', page.url())
})

await question('from the address bar to the fix diff of a pattern', async (person) => {
  await person.press('the patterns', link('/patterns'))
  await person.press('a pattern', (it) => it.href.startsWith('/patterns/p-') && it.text.includes('discount'))
  await person.press('a failure of it', link('/failures/f-'))
  await person.press('its fix', link('/fixes/x-'))
  const diff = page.locator('pre.diff').first()
  await diff.scrollIntoViewIfNeeded()
  assert((await diff.innerText()).includes('+'), 'the diff has no lines')
})

await question('the approval of a proposal', async (person) => {
  await person.press('the proposals', (it) => it.href === '/promotions')
  await person.press('a proposal', link('/promotions/r-'))
  await person.type('by', 'Ada')
  await person.type('reason', 'We all run into it')
  await person.enter()
  await suite.go(page, '/audit')
  assert((await text()).includes('We all run into it'), 'the audit page does not have it')
})

await question('a note on a fix', async (person) => {
  await person.press('the fixes', (it) => it.href === '/fixes')
  await person.press('a fix', link('/fixes/x-'))
  await person.type('cause', 'The order was not loaded')
  await person.enter()
  assert((await text()).includes('Cause: The order was not loaded'), await text())
})

await question('the rating of a warning', async (person) => {
  await person.press('the warnings', (it) => it.href === '/warnings')
  await person.find('a rating', (it) => it.tag === 'SUMMARY' && it.text === 'rate')
  await page.keyboard.press('Enter')
  await person.press('the answer', (it) => it.tag === 'BUTTON' && it.text === 'Useful')
  assert((await page.locator('details.rate > summary', { hasText: /^useful$/ }).count()) === 1, await text())
})

await suite.go(page, '/library/jobs?state=failed')
if ((await page.locator('td.main a').count()) > 0) {
  await question('what a job runs before it is queued again', async (person) => {
    await person.press('the library', (it) => it.href === '/library')
    await person.press('the jobs that failed', (it) => it.href === '/library/jobs?state=failed')
    await person.press('a job', link('/library/jobs/j-'))
    assert((await page.locator('#decide form').first().innerText()).includes('pytest -q'), 'its command is not beside the button')
    await person.type('by', 'Ada')
    await person.type('reason', 'The test is there now')
    await person.enter()
    assert((await page.locator('main > p').first().innerText()).startsWith('queued'), await text())
  })
}

await suite.check('a failure that is recorded meanwhile is announced, and the list stays as it is', async () => {
  await suite.go(page, '/failures')
  const rows = () => page.locator('main tbody').innerText()
  const before = await rows()
  const [project, program] = process.argv.slice(3)
  const failed = spawnSync(program, ['--sync', 'pytest', '-q', 'tests/test_mails.py'], { cwd: project })
  assert(failed.status === 1, `${failed.status} ${failed.stdout}${failed.stderr}`)
  const ended = Date.now()
  const news = page.locator('#news', { hasText: /^1 new$/ })
  await news.waitFor()
  console.log(`announced ${Date.now() - ended} ms after the check had ended`)
  assert((await rows()) === before, 'the list moved')
  await news.click()
  assert((await rows()) !== before, 'the list is the one from before')
})

await suite.check('what is recorded while the page is out of sight is announced when it is seen again', async () => {
  await suite.go(page, '/failures')
  const show = (isShown) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }, !isShown)
  await show(false)
  const [project, program] = process.argv.slice(3)
  for (let run = 0; run < 2; run += 1) spawnSync(program, ['--sync', 'pytest', '-q', 'tests/test_mails.py'], { cwd: project })
  assert(await page.locator('#news').isHidden(), 'it listens out of sight')
  await show(true)
  await page.locator('#news', { hasText: /^2 new$/ }).waitFor()
})

await suite.check('printed, the overview has its figures on three pages and no buttons', async () => {
  await suite.go(page, '/')
  const figures = await page.locator('.figures .value').allInnerTexts()
  const folder = mkdtempSync(join(tmpdir(), 'verify-run-print-'))
  const path = join(folder, 'overview.pdf')
  await page.pdf({ path, format: 'A4' })
  const printed = spawnSync('pdftotext', ['-layout', path, '-'], { encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  assert(printed.status === 0, `${printed.error} ${printed.stderr}`)
  const sheets = printed.stdout.split('\f').length - 1
  assert(sheets >= 1 && sheets <= 3, `${sheets} pages`)
  const words = printed.stdout.replace(/\s+/g, ' ')
  for (const figure of figures) assert(words.includes(figure.replace(/\s+/g, ' ')), `${figure} is not in ${words}`)
  for (const button of ['Filter', 'Search', 'Skip to', 'clear']) assert(!words.includes(button), `${button} is printed`)
  console.log(`printed: ${sheets} pages, figures ${figures.join(', ')}`)
})

await suite.check('nothing was reported on the way', async () => {
  assert(wrong.length === 0, [...new Set(wrong)].join('\n'))
})
await context.close()
await suite.end()
