/** Runs a task at regular intervals while the view is visible and the task is needed. */
export interface AutoRefresh {
  /** Restarts the interval, because something has changed. */
  plan(): void;
  stop(): void;
}

export interface AutoRefreshOptions {
  readonly everyMs: number;
  /** True if the task should run again after the interval. */
  isNeeded(): boolean;
  run(): void;
}

/** @param shown the element that has to be visible */
export function createAutoRefresh(shown: Element, { everyMs, isNeeded, run }: AutoRefreshOptions): AutoRefresh {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isInSight = true;
  const plan = () => {
    clearTimeout(timer);
    if (!isInSight || document.visibilityState !== 'visible' || !isNeeded()) return;
    timer = setTimeout(run, everyMs);
  };
  const observer = new IntersectionObserver((entries) => {
    const isIntersecting = entries.at(-1)?.isIntersecting === true;
    if (isIntersecting === isInSight) return;
    isInSight = isIntersecting;
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
