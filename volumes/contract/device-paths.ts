/** Directories of devices; others in tests. */
export interface DevicePaths {
  /** `/dev` */
  readonly dev: string;
  /** `/sys` */
  readonly sys: string;
}
