/** Formats rejected and ignored manifests, one per line. Pure. */
import { formatWait, type LastingWait } from '#api/kit/waits.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import type { ManifestProblems, ShownOrigin } from '../client/responses.ts';
import { printable } from './table.ts';

/** Returns the text below the table of pods; empty without problems. */
export function formatProblems({ rejected, conflicts }: ManifestProblems): string {
  const lines: string[] = [];
  for (const { origin, identity, errors } of rejected) {
    lines.push(`rejected: ${printable(identity)} in ${placeText(origin)}`);
    for (const error of errors) lines.push(`  ${printable(formatFieldError(error))}`);
  }
  for (const { identity, winner, loser } of conflicts) {
    lines.push(
      `ignored: ${printable(identity)} in ${placeText(loser)}; ${placeText(winner)} takes precedence`,
    );
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** Formats what the agent is waiting for, one entry per line. */
export const formatWaits = (waits: readonly LastingWait[], nowMs: number): string =>
  waits.map((wait) => `waiting for ${printable(formatWait(wait, nowMs))}\n`).join('');

/** `/etc/nodeagent/manifests/web.yaml, document 2` */
function placeText({ source, location, document }: ShownOrigin): string {
  const place = location === '' ? source : location;
  return printable(document === '' ? place : `${place}, document ${document}`);
}
