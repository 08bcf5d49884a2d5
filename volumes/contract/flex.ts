/** Flex drivers as sources and the manager use them. Types only. */

/** The first argument of a driver. */
export type FlexCall =
  | 'init'
  | 'getvolumename'
  | 'attach'
  | 'detach'
  | 'waitforattach'
  | 'isattached'
  | 'mountdevice'
  | 'unmountdevice'
  | 'mount'
  | 'unmount'
  | 'expandvolume'
  | 'expandfs';

export interface FlexCapabilities {
  /** The volume is attached and mounted on the node before pods get it. */
  readonly attach: boolean;
  readonly selinuxRelabel: boolean;
  /** The agent applies the pod's group to the volume's files. */
  readonly fsGroup: boolean;
  readonly supportsMetrics: boolean;
  readonly requiresFSResize: boolean;
}

/** Response of a driver to a successful call. */
export interface FlexResponse {
  readonly message: string;
  readonly device: string;
  readonly volumeName: string;
  readonly attached: boolean;
  /** Bytes; 0 if not reported. */
  readonly volumeNewSize: number;
  readonly capabilities: FlexCapabilities;
}

export interface FlexCallOptions {
  readonly signal: AbortSignal;
  /** Values that must not appear in messages. */
  readonly secrets?: readonly string[];
  /** 2 min by default; then the driver is killed. */
  readonly timeoutMs?: number;
}

export interface FlexDriver {
  readonly name: string;
  readonly capabilities: FlexCapabilities;
  /** Runs one call with its arguments.
   *  @throws FlexNotSupportedError, VolumeSetupError */
  call(call: FlexCall, args: readonly string[], options: FlexCallOptions): Promise<FlexResponse>;
}

export interface FlexDrivers {
  readonly nodeName: string;
  /** Returns the driver that a volume names.
   *  @throws VolumeSetupError if it does not exist or cannot be used */
  find(name: string, signal: AbortSignal): Promise<FlexDriver>;
  /** Calls the listener when a driver was added, removed or changed, once a driver has been requested.
   *  Returns the unsubscribe function. */
  onChange(listener: () => void): () => void;
}
