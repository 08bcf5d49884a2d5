/** Which build of the program runs. */
import packageFile from '../package.json' with { type: 'json' };

/** The version of the product, as `package.json` has it. */
export const PRODUCT_VERSION: string = packageFile.version;
