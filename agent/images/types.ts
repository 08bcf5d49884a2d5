/** What a caller asks of the image manager and what it hears back. */
import type { Secret } from '#api/schema/gen/core-v1.ts';
import type { PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import type { ImageWaitingReason, PullPolicy } from './pull-policy.ts';

/** An event for the pod, with the reasons and texts that users of the field know. */
export interface ImageEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'Pulling' | 'Pulled' | 'BackOff' | 'Failed' | 'InspectFailed' | 'ErrImageNeverPull';
  readonly message: string;
}

export interface EnsureImageRequest {
  /** The image as the container names it. */
  readonly image: string;
  readonly pullPolicy: PullPolicy;
  readonly pullSecrets: readonly Secret[];
  /** Some runtimes pull into the pod's sandbox; containerd ignores it. */
  readonly sandboxConfig?: MessageInput<PodSandboxConfig> | undefined;
  readonly podUID: string;
  readonly signal: AbortSignal;
  /** Told of each event as it happens. */
  readonly onEvent?: (event: ImageEvent) => void;
}

export type EnsureImageResult =
  | {
      readonly kind: 'present';
      readonly imageRef: string;
      readonly pulled: boolean;
      /** Time that the pull took, waiting for a turn included; 0 when it was there. */
      readonly pullMs: number;
      /** Size on disk as the runtime tells it; 0 when it does not. */
      readonly sizeBytes: number;
    }
  | {
      readonly kind: 'waiting';
      readonly reason: ImageWaitingReason;
      readonly message: string;
      /** Wall time (ms) before which asking again gives the same answer. */
      readonly retryAtMs: number;
    };

export type ImageWaiting = Extract<EnsureImageResult, { kind: 'waiting' }>;
