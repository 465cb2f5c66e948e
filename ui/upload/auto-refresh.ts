/** Runs a task at regular intervals while the view is visible and there is something to wait for. */
export interface AutoRefresh {
  /** Restarts the interval, because something has changed. */
  plan(): void;
  stop(): void;
}

export interface AutoRefreshOptions {
  readonly everyMs: number;
  /** True if there is anything to wait for. */
  wanted(): boolean;
  run(): void;
}

/** @param shown the element that has to be visible */
export function createAutoRefresh(shown: Element, { everyMs, wanted, run }: AutoRefreshOptions): AutoRefresh {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let inSight = true;
  const plan = () => {
    clearTimeout(timer);
    if (!inSight || document.visibilityState !== 'visible' || !wanted()) return;
    timer = setTimeout(run, everyMs);
  };
  const observer = new IntersectionObserver((entries) => {
    const seen = entries.at(-1)?.isIntersecting === true;
    if (seen === inSight) return;
    inSight = seen;
    plan();
  });
  observer.observe(shown);
  document.addEventListener('visibilitychange', plan);
  return {
    plan,
    stop() {
      clearTimeout(timer);
      observer.disconnect();
      document.removeEventListener('visibilitychange', plan);
    },
  };
}
