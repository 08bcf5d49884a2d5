/** What a look at the node comes to. */

/** `limited`: the agent works, but not everything does. `broken`: something that is configured can't work. */
export type FindingState = 'ok' | 'limited' | 'broken';

export interface Finding {
  /** Group in which it is shown. */
  readonly area: 'agent' | 'cluster' | 'runtime' | 'node' | 'volumes';
  readonly subject: string;
  readonly state: FindingState;
  /** What was found, in one line. */
  readonly detail: string;
  /** What to do about it. */
  readonly advice?: string;
}

/** Whether what is configured can work. */
export const isSound = (findings: readonly Finding[]): boolean =>
  findings.every(({ state }) => state !== 'broken');
