import { decideTool, type ProposedChange, type ViewDecision } from '../../src/mcp/views/view-contract.js';
import type { Host, ToolResult } from '../host/host.js';
import { timeFormat } from '../shared/appearance.js';
import { methodNotFound, RequestFailed } from '../shared/json-rpc.js';
import { startView } from '../shared/start-view.js';
import { pageLanguage } from '../shared/texts.js';
import { createChangePage, type HostFacts } from './change-page.js';
import {
  answered,
  awaitsNews,
  begin,
  changeOf,
  expire,
  mayBeDecided,
  notPassedOn,
  planSeen,
  type Stage,
  sendingStage,
  settlesPlan,
  stateReported,
  textForModel,
  unanswered,
} from './decision.js';

/** After this time without an answer to a click, the view says that no answer came, and keeps waiting (milliseconds). */
const lateMs = 75_000;

/** Time limit for the host's answer to a decision (milliseconds). */
const answerMs = 15 * 60_000;

/** Time limit for calls that only ask for the plan's state (milliseconds). */
const shortAnswerMs = 75_000;

/** The pauses between two questions for the state of a plan (milliseconds). */
const firstPauseMs = 15_000;
const longestPauseMs = 2 * 60_000;

/** Interval at which the view looks whether the plan has expired (milliseconds). */
const clockMs = 2_000;

/** Shows a plan and takes the decision, or shows the outcome of a change. */
export const startChangeView = (): Promise<void> => new ChangeView().start();

class ChangeView {
  readonly #page = createChangePage({
    onPrimary: () => this.#decide('accept'),
    onDecline: () => this.#decide('decline'),
  });
  #stage: Stage = { kind: 'waiting' };
  /** The stage in which the last click was sent. */
  #lastClick: Stage | undefined;
  /** Undefined until the connection to the host is set up. */
  #host: Host | undefined;
  #formatTime = timeFormat({ locale: pageLanguage(), timeZone: undefined });

  async start(): Promise<void> {
    document.body.append(this.#page.main);
    const clock = setInterval(() => {
      this.#enter(expire(this.#stage, Date.now()));
      this.#page.tick(this.#stage, this.#hostFacts());
    }, clockMs);
    this.#host = await startView('cloudops-change', this.#page.main, {
      onResult: (result) => this.#begin(result),
      onCancelled: () => this.#enter({ kind: 'plain', text: 'The call was cancelled.' }),
      onTeardown: () => clearInterval(clock),
    });
    if (this.#host !== undefined) {
      const { locale, timeZone } = this.#host.context;
      this.#formatTime = timeFormat({ locale: pageLanguage() ?? locale, timeZone });
    }
  }

  #hostFacts(): HostFacts {
    return { callsTools: this.#host?.callsTools === true, formatTime: this.#formatTime };
  }

  /** Shows a stage. The functions of decision.ts return the same object if an event changes nothing. */
  #enter(stage: Stage): void {
    if (stage === this.#stage) return;
    this.#stage = stage;
    this.#page.show(stage, this.#hostFacts());
  }

  /** Shows the plan in a result. Later results only tell what became of the plan, because a repeated plan would undo a click. */
  #begin(result: ToolResult): void {
    if (this.#stage.kind !== 'waiting' && this.#stage.kind !== 'plain') {
      this.#enter(planSeen(this.#stage, result));
      return;
    }
    this.#enter(begin(result, Date.now()));
    void this.#follow();
  }

  /**
   * Asks for the state of the shown plan until its outcome is known, because it may be decided elsewhere, and a host that reloads a view shows the
   * plan as it was. The pauses grow, because a host may ask the person before each call. Our own page asks itself.
   */
  async #follow(): Promise<void> {
    if (this.#host?.callsTools !== true || this.#host.isOwnPage) return;
    const change = changeOf(this.#stage);
    const isShown = () => changeOf(this.#stage) === change;
    if (mayBeDecided(this.#stage, Date.now()) && !(await this.#askForState())) return;
    for (
      let pauseMs = firstPauseMs;
      isShown() && awaitsNews(this.#stage);
      pauseMs = Math.min(2 * pauseMs, longestPauseMs)
    ) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      if (isShown() && awaitsNews(this.#stage) && !(await this.#askForState())) return;
    }
  }

  /** Resolves with false if the host does not answer, or refuses the call. */
  async #askForState(): Promise<boolean> {
    const change = changeOf(this.#stage);
    if (document.hidden || change === undefined || this.#stage.kind === 'sending') return true;
    // Without an answer, the plan stays open. A click on a plan that was decided before gets its outcome and changes nothing.
    const result = await this.#call(change, 'look', shortAnswerMs).catch(() => undefined);
    // By now, the view may show the plan as it is since then.
    if (result !== undefined && changeOf(this.#stage) === change) this.#enter(stateReported(this.#stage, result));
    return result !== undefined;
  }

  /**
   * Sends a click to cloudops-mcp, and shows its progress and its outcome. If the answer is late, the person can click again before
   * this call ends.
   */
  async #decide(decision: 'accept' | 'decline'): Promise<void> {
    const sending = sendingStage(this.#stage, decision);
    if (sending === undefined) return;
    this.#enter(sending);
    this.#lastClick = sending;

    const isLastClick = () => this.#lastClick === sending;
    // The call's own time limit is much longer. A person should not wait so long, and an answer that comes later is still shown.
    const lateTimer = setTimeout(() => {
      if (isLastClick()) this.#enter(unanswered(this.#stage));
    }, lateMs);
    try {
      const result = await this.#call(sending.change, decision, answerMs);
      // By now, the view may show the plan as it is since then.
      if (changeOf(this.#stage) !== sending.change) return;
      // A later click may be making the change. So an answer to an earlier click counts only if it settles the plan.
      if (!isLastClick() && !settlesPlan(result)) return;
      this.#showAnswer(result);
    } catch (error) {
      // This error says nothing about a later click, which may be under way by now.
      if (!isLastClick()) return;
      const isNotPassedOn = error instanceof RequestFailed && error.code === methodNotFound;
      this.#enter(isNotPassedOn ? notPassedOn(this.#stage) : unanswered(this.#stage));
    } finally {
      clearTimeout(lateTimer);
    }
  }

  /** Shows the answer to a click. If the answer ends the decision, passes a text about it to the model. */
  #showAnswer(result: ToolResult): void {
    const stage = answered(this.#stage, result);
    const isIgnored = stage === this.#stage;
    if (stage.kind === 'ended' && !isIgnored) this.#host?.updateModelContext(textForModel(stage, result));
    this.#enter(stage);
  }

  async #call(change: ProposedChange, decision: ViewDecision['decision'], timeoutMs: number): Promise<ToolResult> {
    if (this.#host === undefined) throw new Error('no host answered');
    const args = { ticket: change.ticket, decision, ...this.#page.typedArguments(change, decision) };
    return this.#host.callTool(decideTool, args, timeoutMs);
  }
}
