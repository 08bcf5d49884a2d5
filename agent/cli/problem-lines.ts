/** Manifests that do not run, told line by line. Pure. */
import { formatWait, type LastingWait } from '#api/kit/waits.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import type { ManifestProblems, ShownOrigin } from './answers.ts';
import { printable } from './table.ts';

/** Text for below the pods' table; empty when all is well. */
export function formatProblems({ rejected, conflicts }: ManifestProblems): string {
  const lines: string[] = [];
  for (const { origin, identity, errors } of rejected) {
    lines.push(`rejected: ${printable(identity)} in ${placeText(origin)}`);
    for (const error of errors) lines.push(`  ${printable(formatFieldError(error))}`);
  }
  for (const { identity, winner, loser } of conflicts) {
    lines.push(`not used: ${printable(identity)} in ${placeText(loser)}; ${placeText(winner)} comes first`);
  }
  return lines.map((line) => `${line}\n`).join('');
}

/** What the agent waits on, a line each. */
export const formatWaits = (waits: readonly LastingWait[], nowMs: number): string =>
  waits.map((wait) => `waiting for ${printable(formatWait(wait, nowMs))}\n`).join('');

/** `/etc/nodeagent/manifests/web.yaml, document 2` */
export function placeText({ source, location, document }: ShownOrigin): string {
  const place = location === '' ? source : location;
  return printable(document === '' ? place : `${place}, document ${document}`);
}
