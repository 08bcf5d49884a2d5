/** Which pods a node that is short of something takes on, and whom it never ends: one rule for both. */
import type { Refusal } from '../admission/admit.ts';
import { pressureRefusal } from '../admission/pressure.ts';
import { isCritical } from '../admission/resource-fit.ts';
import { staticPods } from '../admission/static-pods.ts';
import type { AgentConfig } from '../config/gen/config.ts';
import type { SourcePod } from '../sources/types.ts';
import type { Base } from './base.ts';

export type PressureRefusal = (source: SourcePod) => Refusal | undefined;

export const isJoined = ({ platconfig, bootstrapKubeconfig }: AgentConfig): boolean =>
  platconfig !== '' || bootstrapKubeconfig !== '';

/** Pods of the system's priorities and static ones, as upstream. */
export const createIsSpared = ({ config }: Pick<Base, 'config'>): ((source: SourcePod) => boolean) => {
  const isStatic = staticPods(isJoined(config));
  return (source) => isCritical(source.pod) || isStatic(source);
};

export function createPressureRefusal(base: Base): PressureRefusal {
  const isSpared = createIsSpared(base);
  const memoryTaint = `node.${base.vocabulary.domain}/memory-pressure`;
  return (source) =>
    pressureRefusal(source.pod, base.pressure.conditions(), { critical: isSpared(source), memoryTaint });
}
