/** Declaration of a controller: its inputs (watched kinds), its outputs (written kinds and fields), and the
 *  function that starts it. `table.ts` lists the declarations, `run.ts` runs them, `scope.ts` enforces them. */
import type { ResourceCache, WatchHandle } from '../../cache/contract.ts';
import type { Resource } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import type { Children } from '../workloads-kit/children.ts';
import type { ControllerClient } from '../workloads-kit/controller-base.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';
import type { KeyQueue } from '../workloads-kit/run-keys.ts';
import type { KindName } from './kinds.ts';
import type { ControllerSettings } from './settings.ts';

export const SUBRESOURCES = ['status', 'approval', 'finalize', 'scale'] as const;
export type WrittenSubresource = (typeof SUBRESOURCES)[number];

/** Writes to one kind. Updates name the paths of the fields that they change, such as `status.phase`; a path
 *  includes all fields below it. */
export interface KindWrites extends Readonly<Partial<Record<WrittenSubresource, readonly string[]>>> {
  readonly create?: true;
  readonly delete?: true;
  /** Fields that updates of the object itself change. */
  readonly update?: readonly string[];
}

/** A controller that reads or writes every served kind, custom resources included. */
export interface EveryKind {
  readonly reason: string;
  readonly writes?: KindWrites;
}

/** Reconciliation of one controller. */
export interface Reconciler {
  /** Reconciles one key: idempotent, one call per key at a time. May request another run by returning a
   *  delay in ms. A rejection is logged and retried with backoff. */
  reconcile(key: string): Promise<number | undefined>;
  /** Subscriptions that the runner closes when the controller stops. */
  readonly follows: readonly WatchHandle[];
  /** Further loops of the controller. Each runs until the signal is aborted. */
  readonly background?: readonly ((signal: AbortSignal) => Promise<void>)[];
  /** Logs a failed reconciliation; absent: a warning with the key. */
  onError?(key: string, error: Error): void;
}

/** Dependencies of a running controller. Access is limited to the declared kinds: any other kind is a type
 *  error or throws UndeclaredError.
 *  @typeParam R watched kinds
 *  @typeParam K watched and written kinds */
export interface ControllerContext<R extends KindName = KindName, K extends KindName = KindName>
  extends WorkloadDeps {
  /** Verbs, caller identity, field manager and event recorder. */
  readonly client: ControllerClient;
  readonly queue: KeyQueue;
  readonly settings: ControllerSettings;
  readonly signal: AbortSignal;
  /** Resource of a declared kind. */
  resourceOf(kind: K): Resource;
  /** Cache of a watched kind. */
  cacheOf(kind: R): ResourceCache;
  /** Reports whether an optional kind is served. */
  isServed(kind: R): boolean;
  /** Index of the pods that all controllers share; requires `pods` among the watched kinds. */
  pods(): Children<PodFacts>;
  /** All served resources; requires `everyKind`. */
  allKinds(): ResourceRegistry;
}

/** @typeParam R watched kinds
 *  @typeParam W written kinds */
interface Declaration<R extends KindName, W extends KindName> {
  /** Name in `--controllers` and in logs. */
  readonly name: string;
  /** Suffix of its user name, and the component of its events, such as `job-controller`. */
  readonly identity: string;
  /** Kinds that it reads from the cache. It does not run while one of them is not served. */
  readonly watches: readonly R[];
  /** Watched kinds without which it runs as well. */
  readonly optional?: readonly R[];
  readonly everyKind?: EveryKind;
  readonly writes: Readonly<Record<W, KindWrites>>;
  /** Records Events about its objects. */
  readonly recordsEvents?: true;
  /** Its managedFields carry its identity instead of the name that all controllers share. */
  readonly ownFieldManager?: true;
  /** Maximum number of keys in flight; default 5. */
  readonly workers?: number;
  /** Subscribes to its inputs. `undefined`: it has nothing to do with these settings. */
  start(context: ControllerContext<R, R | W>): Reconciler | undefined;
}

/** A row of the table. */
export interface Controller extends Omit<Declaration<KindName, KindName>, 'writes' | 'start'> {
  readonly writes: Readonly<Partial<Record<KindName, KindWrites>>>;
  start(context: ControllerContext): Reconciler | undefined;
}

/** Declares a controller; checks its context against the declared kinds at compile time. */
export const defineController = <const R extends KindName, const W extends KindName>(
  declaration: Declaration<R, W>,
): Controller => declaration;
