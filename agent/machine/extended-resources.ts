/** Extended resources of the node. Quantities by name. */
export interface ExtendedResources {
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
  /** Names of resources that have been removed for good. */
  readonly removed: readonly string[];
  /** The earlier state is unknown: extended resources in the node status are invalid until they are reported
   *  again. */
  readonly forgotten?: true;
}
