/** Evaluates a pod against a level. Pure. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { BASELINE, type Look } from './baseline.ts';
import type { LevelVersion } from './levels.ts';
import { RESTRICTED } from './restricted.ts';

/** Why the pod is not, in one text; `undefined`: it is. */
export function violationsOf(
  { metadata, spec }: Pod,
  { level, minor }: LevelVersion,
  vocabulary: Vocabulary,
): string | undefined {
  if (level === 'privileged' || spec === undefined) return undefined;
  const look: Look = {
    spec,
    annotations: metadata?.annotations ?? {},
    containers: [
      ...(spec.initContainers ?? []),
      ...(spec.containers ?? []),
      ...(spec.ephemeralContainers ?? []),
    ],
    vocabulary,
    minor,
  };
  const checks = level === 'baseline' ? BASELINE : [...BASELINE, ...RESTRICTED];
  const found = checks.flatMap((check) => check(look) ?? []);
  return found.length === 0 ? undefined : found.map(({ what, where }) => `${what} (${where})`).join(', ');
}
