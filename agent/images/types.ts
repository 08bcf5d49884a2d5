/** Requests and results of the image manager. */
import type { Secret } from '#api/gen/core-v1.ts';
import type { PodSandboxConfig } from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';

export type PullPolicy = 'Always' | 'IfNotPresent' | 'Never';

/** Waiting reasons of a container without its image. */
export type ImageWaitingReason =
  | 'InvalidImageName'
  | 'ImageInspectError'
  | 'ErrImageNeverPull'
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'RegistryUnavailable'
  | 'SignatureValidationFailed';

/** An event of the pod, with upstream's reasons and messages. */
export interface ImageEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'Pulling' | 'Pulled' | 'BackOff' | 'Failed' | 'InspectFailed' | 'ErrImageNeverPull';
  readonly message: string;
}

export interface EnsureImageRequest {
  /** The image as named in the container. */
  readonly image: string;
  readonly pullPolicy: PullPolicy;
  readonly pullSecrets: readonly Secret[];
  /** Some runtimes pull into the sandbox of the pod; containerd ignores it. */
  readonly sandboxConfig?: MessageInput<PodSandboxConfig> | undefined;
  readonly podUID: string;
  readonly signal: AbortSignal;
  /** Called with each event as it occurs. */
  readonly onEvent?: (event: ImageEvent) => void;
}

export type EnsureImageResult =
  | {
      readonly kind: 'present';
      readonly imageRef: string;
      readonly pulled: boolean;
      /** Duration of the pull, including the wait for the rate limit; 0 if the image was present. */
      readonly pullMs: number;
      /** Size on disk as reported by the runtime; 0 if unknown. */
      readonly sizeBytes: number;
    }
  | {
      readonly kind: 'waiting';
      readonly reason: ImageWaitingReason;
      readonly message: string;
      /** Wall time (ms) before which a repeated call has the same result. */
      readonly retryAtMs: number;
    };

export type ImageWaiting = Extract<EnsureImageResult, { kind: 'waiting' }>;
