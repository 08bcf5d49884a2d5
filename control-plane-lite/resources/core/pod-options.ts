/** Pod validation options of the API server: what it accepts beyond what its own agent runs. */
import type { PodValidationOptions } from '#api/schema/validation/pod.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

const OPERATING_SYSTEMS: readonly string[] = ['linux', 'windows'];

/** Options for pods and templates of pods that are stored. */
export const serverPodOptions = (
  vocabulary: Vocabulary,
  gates: ReadonlySet<string>,
): PodValidationOptions => ({
  vocabulary,
  expandedDNSConfig: gates.has('ExpandedDNSConfig'),
  operatingSystems: OPERATING_SYSTEMS,
  negativeGracePeriod: true,
});
