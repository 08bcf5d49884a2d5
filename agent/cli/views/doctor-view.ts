/** Formats findings for the terminal. Pure. */
import type { Finding, FindingState } from '../../doctor/finding.ts';
import { formatTable, type PaintCell } from './table.ts';

const MARKS: Readonly<Record<FindingState, string>> = { ok: 'ok', limited: 'limited', broken: 'BROKEN' };

function summaryOf(findings: readonly Finding[]): string {
  const count = (state: FindingState): number => findings.filter((finding) => finding.state === state).length;
  const broken = count('broken');
  const limited = count('limited');
  if (broken === 0 && limited === 0) return 'All checks passed.';
  const parts = [
    ...(broken === 0 ? [] : [`${broken} broken`]),
    ...(limited === 0 ? [] : [`${limited} limited`]),
  ];
  return `${parts.join(', ')}; all other checks passed.`;
}

/** Formats a table of all findings, advice for some of them, and a summary. */
export function findingsText(findings: readonly Finding[], paint?: PaintCell): string {
  const rows = findings.map(({ area, subject, state, detail, advice }) => [
    area,
    subject,
    MARKS[state],
    advice === undefined ? detail : `${detail} -> ${advice}`,
  ]);
  return `${formatTable(['AREA', 'SUBJECT', 'STATE', 'DETAIL'], rows, paint)}\n${summaryOf(findings)}\n`;
}
