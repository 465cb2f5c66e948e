interface AutoRefreshOptions {
  /** The time from `restart` to the task (milliseconds). */
  readonly everyMs: number;
  /** True if the task should run. */
  isNeeded(): boolean;
  run(): void;
}

/**
 * Runs a task after an interval, if the view is visible and the task is needed. Each `restart` begins a new interval.
 * @param view the element that has to be visible
 */
export function createAutoRefresh(view: Element, { everyMs, isNeeded, run }: AutoRefreshOptions) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isScrolledIntoView = true;
  const restart = () => {
    clearTimeout(timer);
    if (!isScrolledIntoView || document.visibilityState !== 'visible' || !isNeeded()) return;
    timer = setTimeout(run, everyMs);
  };
  const observer = new IntersectionObserver((entries) => {
    const isIntersecting = entries.at(-1)?.isIntersecting === true;
    if (isIntersecting === isScrolledIntoView) return;
    isScrolledIntoView = isIntersecting;
    restart();
  });
  observer.observe(view);
  document.addEventListener('visibilitychange', restart);
  return {
    restart,
    stop() {
      clearTimeout(timer);
      observer.disconnect();
      document.removeEventListener('visibilitychange', restart);
    },
  };
}
