// When the overview shows something first, for `benches/dashboard`: milliseconds of each visit, as JSON.
//
//     node paint.mjs ADDRESS VISITS
import { Suite } from './browser.mjs'

const suite = new Suite()
const { page } = await suite.open({ viewport: { width: 1200, height: 760 } })
const taken = []
for (let visit = 0; visit < Number(process.argv[3]); visit++) {
  await suite.go(page, '/')
  taken.push(
    await page.evaluate(
      () =>
        new Promise((resolve) => {
          const take = (entries) => {
            const paint = entries.find(({ name }) => name === 'first-contentful-paint')
            if (paint) resolve(paint.startTime)
          }
          new PerformanceObserver((list) => take(list.getEntries())).observe({ type: 'paint', buffered: true })
        }),
    ),
  )
}
await suite.close()
console.log(JSON.stringify(taken))
