import {
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  jwtVerify,
  type ProtectedHeaderParameters,
} from "jose";
import type { ExternalKey, KeyFolder, TrustedKeys } from "./issuer-keys.js";

/** Tokens that somebody else issued (JWT), checked against the keys that the project trusts. */

export interface ExternalTokenOptions {
  /** The claim that names the user, where the project does not say otherwise. */
  readonly claim: string;
  /** How far clocks may differ. */
  readonly toleranceSeconds: number;
}

/** Longer ones are not looked at. */
const maxLength = 16_384;

export class ExternalTokens {
  constructor(
    private readonly keys: KeyFolder,
    private readonly options: ExternalTokenOptions,
  ) {}

  /**
   * The login that the token names; undefined when the token proves nothing to this project: it is damaged, signed by
   * nobody whom the project trusts, expired or without an end, or meant for somebody else.
   */
  async loginOf(token: string, project: string): Promise<string | undefined> {
    if (token.length > maxLength) return undefined;
    const header = headerOf(token);
    if (!header) return undefined;
    const trusted = await this.keys.read(project);
    const claim = trusted.options.claim ?? this.options.claim;
    for (const key of trusted.keys) {
      if (!fits(key, header)) continue;
      const payload = await this.verified(token, key, { trusted, project, claim });
      if (payload === "not this key") continue;
      const login = payload && Object.hasOwn(payload, claim) ? payload[claim] : undefined;
      return typeof login === "string" && login !== "" ? login : undefined;
    }
    return undefined;
  }

  /** The claims that this key vouches for; undefined when it does and they do not hold. */
  private async verified(
    token: string,
    { key, algorithm }: ExternalKey,
    { trusted, project, claim }: { trusted: TrustedKeys; project: string; claim: string },
  ): Promise<JWTPayload | "not this key" | undefined> {
    const { audience, issuer } = trusted.options;
    try {
      const { payload } = await jwtVerify(token, key, {
        // The one algorithm that the key is for, whatever the token says: `none` and swapped ones are refused.
        algorithms: [algorithm],
        audience:
          typeof audience === "string" || audience === undefined ? (audience ?? project) : [...audience],
        clockTolerance: this.options.toleranceSeconds,
        requiredClaims: ["exp", claim],
        ...(issuer === undefined ? {} : { issuer }),
      });
      return payload;
    } catch (error) {
      if (error instanceof errors.JWSSignatureVerificationFailed) return "not this key";
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }
}

function headerOf(token: string): ProtectedHeaderParameters | undefined {
  try {
    return decodeProtectedHeader(token);
  } catch {
    return undefined;
  }
}

const fits = (key: ExternalKey, header: ProtectedHeaderParameters): boolean =>
  key.algorithm === header.alg && (key.id === undefined || header.kid === undefined || key.id === header.kid);
