/** The part that a container has in its pod. */
export type ContainerKind = 'app' | 'init' | 'ephemeral';
