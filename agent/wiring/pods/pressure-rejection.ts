/** Admission of pods under node pressure, and the pods spared from eviction: one rule for both. */
import type { Refusal } from '../../admission/admit.ts';
import { pressureRefusal } from '../../admission/pressure.ts';
import { isCritical } from '../../admission/resource-fit.ts';
import { staticPods } from '../../admission/static-pods.ts';
import type { AgentConfig } from '../../config/gen/config.ts';
import type { SourcePod } from '../../sources/types.ts';
import type { Base } from '../base.ts';

export type PressureRejection = (source: SourcePod) => Refusal | undefined;

export const isJoined = ({ platconfig, bootstrapKubeconfig }: AgentConfig): boolean =>
  platconfig !== '' || bootstrapKubeconfig !== '';

/** Critical and static pods, as upstream. */
export const createIsSpared = ({ config }: Pick<Base, 'config'>): ((source: SourcePod) => boolean) => {
  const isStatic = staticPods(isJoined(config));
  return (source) => isCritical(source.pod) || isStatic(source);
};

export function createPressureRejection(base: Base): PressureRejection {
  const isSpared = createIsSpared(base);
  const memoryTaint = `node.${base.vocabulary.domain}/memory-pressure`;
  return (source) =>
    pressureRefusal(source.pod, base.pressure.conditions(), { critical: isSpared(source), memoryTaint });
}
