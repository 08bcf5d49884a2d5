/** What the pods' side of the agent takes from an API server. A standalone agent has none of it, and loads nothing. */
import type { Pod, PodStatus } from '#api/schema/gen/core-v1.ts';
import type { PodSource } from '../sources/types.ts';

export interface ServerParts {
  readonly source: PodSource;
  /** Nothing of a pod that is to be deleted is left here. */
  ended(pod: Pod, status: PodStatus | undefined): void;
}
