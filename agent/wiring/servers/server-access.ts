import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import type { NodeAddresses } from '../../certs/serving-names.ts';
import type { CreateReview } from '../../server/node/reviews.ts';

/** Access to an API server that the node's own servers use, for an agent that has one. */
export interface ServerAccess {
  /** Makes reviews there. */
  readonly create: CreateReview;
  /** By which the node asks there, once it has got in; rejects where it never does. */
  readonly clientConfig: Promise<ResolvedClientConfig>;
  /** Addresses of the node, as reported in its status. */
  readonly addresses: NodeAddresses;
}
