/** The passage of one request through flow control. */
import type { FlowTarget, OnAbort, RequestKind } from './contract.ts';
import type { FlowSeries } from './flow-metrics.ts';
import { type QueueItem, QueuePlace } from './queue.ts';

export type AdmissionState = 'waiting' | 'executing' | 'rejected' | 'over';

/** The FlowSchema that matches a request. */
export interface AdmissionFlow {
  readonly name: string;
  readonly level: AdmissionLevel;
  /** Headers of the response, as a flat list. */
  readonly headers: readonly string[];
  readonly series: FlowSeries;
  /** Returns the queues of a flow. */
  hand(distinguisher: string): readonly number[];
}

/** The priority level of a request. */
export interface AdmissionLevel {
  readonly name: string;
  arrive(admission: Admission): void;
  wait(admission: Admission, onAbort: OnAbort): Promise<void>;
  release(admission: Admission): void;
  end(admission: Admission): void;
}

export class Admission implements QueueItem<Admission> {
  readonly flow: AdmissionFlow;
  readonly kind: RequestKind;
  readonly info: FlowTarget;
  readonly userName: string;
  readonly distinguisher: string;
  readonly initialSeats: number;
  finalSeats = 0;
  finalMs = 0;
  readonly place: QueuePlace<Admission> = new QueuePlace<Admission>();
  state: AdmissionState = 'waiting';
  /** It is counted among the open watches. */
  isWatching = false;
  /** Present while the request waits. */
  settle: ((error: Error | undefined) => void) | undefined;

  constructor(flow: AdmissionFlow, kind: RequestKind, request: AdmittedRequest, initialSeats: number) {
    this.flow = flow;
    this.kind = kind;
    this.info = request.info;
    this.userName = request.userName;
    this.distinguisher = request.distinguisher;
    this.initialSeats = initialSeats;
  }

  get level(): AdmissionLevel {
    return this.flow.level;
  }

  /** Gives up the seats or the place in the queue: the request has ended, or a watch is initialized. Has no
   *  effect the second time. */
  release(): void {
    this.flow.level.release(this);
  }

  /** Must be called when the request has ended, however it ended. */
  end(): void {
    this.flow.level.end(this);
  }
}

interface AdmittedRequest {
  readonly info: FlowTarget;
  readonly userName: string;
  readonly distinguisher: string;
}
