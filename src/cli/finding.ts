import { type SafeText, type Wording, words } from '../util/safe-text.js';

/** The result of one check of `doctor`. Every finding that is not `ok` has a remedy. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'not checked' | 'warning' | 'problem';
  readonly detail: SafeText;
  readonly remedy?: SafeText;
}

export const ok = <const Detail extends string>(check: string, detail: Wording<Detail>): Finding => ({
  check,
  status: 'ok',
  detail: words(detail),
});

const finding =
  (status: Exclude<Finding['status'], 'ok'>) =>
  <const Detail extends string, const Remedy extends string>(
    check: string,
    detail: Wording<Detail>,
    remedy: Wording<Remedy>,
  ): Finding => ({ check, status, detail: words(detail), remedy: words(remedy) });

export const notChecked = finding('not checked');
export const warning = finding('warning');
export const problem = finding('problem');
