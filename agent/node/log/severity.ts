/** Severities of log lines, as upstream numbers them. Pure. */
import type { Severity } from '#api/kit/logging/text-logger.ts';

/** Names by number. */
export const SEVERITIES = ['INFO', 'WARNING', 'ERROR', 'FATAL'] as const;

const RANKS: Readonly<Record<string, number>> = { I: 0, W: 1, E: 2 };

/** Returns the severity, 0 to 2.
 *  @param severity of a text line; that of a JSON line is parsed */
export function severityOf(line: string, severity?: Severity): number {
  return RANKS[severity ?? /^\{"level":"(\w)/.exec(line)?.[1]?.toUpperCase() ?? ''] ?? 0;
}

/** @param text a name or a number */
export function parseSeverity(text: string): number {
  const named = SEVERITIES.findIndex((name) => name === text.toUpperCase());
  return named < 0 ? Number(text) : named;
}
