/** What the machine is, as far as a node tells of it. Data only. */

export interface HugePages {
  readonly sizeBytes: number;
  readonly count: number;
}

export interface InterfaceAddress {
  readonly interfaceName: string;
  /** Text of the address, without a zone. */
  readonly address: string;
}

/** A way out of the machine. */
export interface DefaultRoute {
  readonly interfaceName: string;
  readonly family: 'IPv4' | 'IPv6';
  /** The least one is taken. */
  readonly metric: number;
}

export interface NetworkFacts {
  /** Of interfaces that are up, loopback included. */
  readonly addresses: readonly InterfaceAddress[];
  readonly defaultRoutes: readonly DefaultRoute[];
  /** What the resolver says of the node's name; empty when it knows nothing. */
  readonly resolved: readonly string[];
}

export interface MachineFacts {
  readonly cores: number;
  readonly memoryBytes: number;
  readonly hugePages: readonly HugePages[];
  /** Size of the file system of the root directory; absent when it could not be told. */
  readonly rootBytes?: number;
  readonly machineID: string;
  readonly systemUUID: string;
  /** Another one at each boot. */
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** As Go names it: `amd64`. */
  readonly architecture: string;
  /** Whether the kernel confines programs by AppArmor. */
  readonly appArmor: boolean;
  readonly network: NetworkFacts;
}
