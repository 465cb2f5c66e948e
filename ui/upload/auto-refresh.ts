interface AutoRefreshOptions {
  /** The time from the last `restart` until the task runs (milliseconds). */
  readonly delayMs: number;
  /** True if the task still has a purpose. `restart` asks for this before it starts the timer. */
  isNeeded(): boolean;
  run(): void;
}

/** Runs a task `delayMs` after the last `restart`. While the view is hidden, no timer runs. When it appears, the delay begins again. */
export function createAutoRefresh(view: Element, { delayMs, isNeeded, run }: AutoRefreshOptions) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isScrolledIntoView = true;
  const restart = () => {
    clearTimeout(timer);
    if (!isScrolledIntoView || document.visibilityState !== 'visible' || !isNeeded()) return;
    timer = setTimeout(run, delayMs);
  };

  const observer = new IntersectionObserver((entries) => {
    // The last entry is the newest. If it changes nothing, the delay must not begin again.
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
