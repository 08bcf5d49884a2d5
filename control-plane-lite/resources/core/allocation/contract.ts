/** Types shared by the parts of service allocation. */
import type { IpFamily, IpRange } from '#api/meta/ip.ts';
import type { ApiObject, Release, StrategyContext } from '../../contract.ts';
import type { PortRange } from './spaces.ts';

export interface AllocationOptions {
  /** One range, or one of each family; the first family is the default one. */
  readonly clusterIPRanges: readonly IpRange[];
  readonly nodePorts: PortRange;
  /** The first addresses of a range are left to services that name theirs. Default false. */
  readonly staticSubrange?: boolean;
}

export interface RepairReport {
  /** Values that services have and the pool didn't know of. */
  readonly restored: number;
  /** Released values. */
  readonly freed: number;
  /** Values that two services claim, as `value: namespace/name`. */
  readonly conflicts: readonly string[];
}

export interface ServiceAllocation {
  /** Families that services can have, the default one first. */
  readonly families: readonly IpFamily[];
  /** Takes what the service needs and `old` doesn't have, and writes it into the draft.
   *  @throws StatusError Invalid if a value asked for can't be had, InternalError if none is left */
  reserve(draft: ApiObject, old: ApiObject | undefined, context: StrategyContext): Promise<Release>;
  /** Releases the values that an updated service no longer uses. */
  settle(object: ApiObject, old: ApiObject): Promise<void>;
  /** Gives back all that a removed service had. */
  release(object: ApiObject): Promise<void>;
  /** Brings the pools in line with the services that there are. Run at start, before services are written, and now
   *  and then: it frees what a server that was killed left behind. */
  repair(services: readonly ApiObject[]): Promise<RepairReport>;
}
