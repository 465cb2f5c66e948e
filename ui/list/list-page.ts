import { pageLanguage, t } from '../shared/texts.js';

/**
 * Starts the page of changes. It shows the exact times in the reader's time zone, and loads the list again every ten seconds while it is visible,
 * so that new plans appear. The keyboard focus stays on the same plan. The page also works without this script.
 */
export function startListPage(): void {
  const list = listIn(document);
  // Signing in and messages have no list.
  if (list !== null) new ListPage(list).start();
}

class ListPage {
  readonly #news = document.getElementById('news');
  #list: Element;
  /** The list as the server sent it, without local times. */
  #shownHtml: string;
  #isReading = false;

  constructor(list: Element) {
    this.#list = list;
    this.#shownHtml = list.innerHTML;
  }

  start(): void {
    showLocalTimes();
    for (const select of document.querySelectorAll('select'))
      select.addEventListener('change', () => select.form?.requestSubmit());
    setInterval(() => void this.#refreshIfVisible(), refreshMs);
    document.addEventListener('visibilitychange', () => void this.#refreshIfVisible());
  }

  async #refreshIfVisible(): Promise<void> {
    if (document.hidden || this.#isReading) return;
    this.#isReading = true;
    await this.#refresh().catch(() => this.#tell(t(lost)));
    this.#isReading = false;
  }

  async #refresh(): Promise<void> {
    const answer = await fetch(location.href);
    // The session has ended.
    if (answer.redirected) return location.reload();
    if (!answer.ok) throw new Error(`HTTP status ${answer.status}`);
    if (this.#news?.textContent === t(lost)) this.#tell('');
    this.#show(new DOMParser().parseFromString(await answer.text(), 'text/html'));
  }

  #show(newPage: Document): void {
    const newList = listIn(newPage);
    if (newList === null || newList.innerHTML === this.#shownHtml) return;
    const oldLinks = linksIn(this.#list);
    const added = linksIn(newList).filter((link) => !oldLinks.includes(link)).length;
    const focused = document.activeElement?.closest('.plan a')?.getAttribute('href');
    this.#shownHtml = newList.innerHTML;
    this.#list.replaceWith(newList);
    this.#list = newList;
    showLocalTimes();
    document.title = newPage.title;
    if (added > 0) this.#tell(t(added === 1 ? 'A new change waits.' : `${added} new changes wait.`));
    if (focused) newList.querySelector<HTMLElement>(`a[href="${focused}"]`)?.focus({ preventScroll: true });
  }

  #tell(text: string): void {
    if (this.#news !== null) this.#news.textContent = text;
  }
}

const refreshMs = 10_000;
const lost = 'The server does not answer. This list may be out of date.';

const listIn = (page: Document) => page.getElementById('plans');
const linksIn = (list: Element) => [...list.querySelectorAll('.waiting a')].map((link) => link.getAttribute('href'));

function showLocalTimes(): void {
  for (const time of document.querySelectorAll('time'))
    time.title = new Date(time.dateTime).toLocaleString(pageLanguage(), { dateStyle: 'medium', timeStyle: 'long' });
}
