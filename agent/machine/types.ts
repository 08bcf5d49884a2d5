/** Machine facts that a node reports. Data only. */

export interface HugePages {
  readonly sizeBytes: number;
  readonly count: number;
}

export interface InterfaceAddress {
  readonly interfaceName: string;
  /** Text of the address, without a zone. */
  readonly address: string;
}

/** A default route. */
export interface DefaultRoute {
  readonly interfaceName: string;
  readonly family: 'IPv4' | 'IPv6';
  /** The lowest metric is preferred. */
  readonly metric: number;
}

export interface NetworkFacts {
  /** Of interfaces that are up, loopback included. */
  readonly addresses: readonly InterfaceAddress[];
  readonly defaultRoutes: readonly DefaultRoute[];
  /** Resolved addresses of the node name; empty when unknown. */
  readonly resolved: readonly string[];
}

export interface MachineFacts {
  readonly cores: number;
  readonly memoryBytes: number;
  readonly hugePages: readonly HugePages[];
  /** Size of the file system of the root directory; absent when unknown. */
  readonly rootBytes?: number;
  readonly machineID: string;
  readonly systemUUID: string;
  /** Changes at each boot. */
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** In Go's spelling: `amd64`. */
  readonly architecture: string;
  /** Whether the kernel enforces AppArmor profiles. */
  readonly appArmor: boolean;
  readonly network: NetworkFacts;
}
