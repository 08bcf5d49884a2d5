/** Contract of admission plugins: before a change is stored, plugins first mutate, then validate it. Source:
 *  admission, document 2 §2.7. */
import type { ApiObject, ObjectSchema, Resource, UserInfo } from '../resources/contract.ts';

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export interface AdmissionRequest {
  readonly operation: Operation;
  readonly resource: Resource;
  readonly subresource: string;
  readonly namespace: string;
  /** Empty if a name is still to be generated. */
  readonly name: string;
  /** The draft; a mutating plugin changes it in place. Absent for DELETE. */
  readonly object: ApiObject | undefined;
  readonly old: ApiObject | undefined;
  /** Decodes an object of a kind other than the resource's: a Binding, a Scale, connect options. */
  readonly schema?: ObjectSchema;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** Each step on its objects runs in a turn of the event loop of its own. A webhook may have made the object large. */
  isLarge?: boolean;
  /** Create, update, patch or delete options, as an object of the meta group. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Created on first use. */
  readonly signal: () => AbortSignal;
  warn(text: string): void;
  annotate(key: string, value: string): void;
}

export interface AdmissionPlugin {
  readonly name: string;
  readonly operations: readonly Operation[];
  /** Concerned resources, as `group/plural` on the wire (`/pods` in the core group), subresources included.
   *  Absent: all. */
  readonly resources?: ReadonlySet<string>;
  /** Of an updated object, members other than `metadata` may be the live object's own (`sharesUntouched`): they are
   *  set anew, never changed inside.
   *  @throws StatusError to refuse */
  mutate?(request: AdmissionRequest): void | Promise<void>;
  /** @throws StatusError to refuse */
  validate?(request: AdmissionRequest): void | Promise<void>;
}
