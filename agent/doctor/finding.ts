/** Result of a check. */

/** `limited`: the agent works with restrictions. `broken`: something that is configured cannot work. */
export type FindingState = 'ok' | 'limited' | 'broken';

export interface Finding {
  /** Group for display. */
  readonly area: 'agent' | 'cluster' | 'runtime' | 'node' | 'volumes';
  readonly subject: string;
  readonly state: FindingState;
  /** The result, in one line. */
  readonly detail: string;
  /** Advice for the user. */
  readonly advice?: string;
}

/** Reports whether everything that is configured can work. */
export const isSound = (findings: readonly Finding[]): boolean =>
  findings.every(({ state }) => state !== 'broken');
