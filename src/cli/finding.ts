/** What a check of `doctor` found, with what to do about it unless it is in order. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'problem';
  readonly detail: string;
  readonly remedy?: string;
}

export const ok = (check: string, detail: string): Finding => ({ check, status: 'ok', detail });

const finding =
  (status: 'warning' | 'problem') =>
  (check: string, detail: string, remedy: string): Finding => ({ check, status, detail, remedy });

export const warning = finding('warning');
export const problem = finding('problem');
