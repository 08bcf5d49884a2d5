/** Pod validation options of the API server: features accepted in addition to those of its own agent. */
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
