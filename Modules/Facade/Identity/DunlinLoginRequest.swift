#if TLS
  import CRDTCore
  public import Foundation
  import Links

  /// A device's request to a login service, for services that are written in Swift.
  ///
  /// The signature of the request is verified; its token is not. The service itself must verify the token. It
  /// must also check that it sent the challenge recently, and that the challenge was not used before.
  public struct DunlinLoginRequest: Sendable {
    /// The application's id.
    public let appID: String
    /// The method that verifies the token.
    public let provider: String
    /// The token that proves who the user is.
    public let token: String
    /// The device's public key, whose private key has signed the request.
    public let deviceKey: String
    /// The challenge that the service has just sent to the device.
    public let challenge: String

    /// Reads the body of a request to `…/login`.
    ///
    /// - Parameters:
    ///   - body: The bytes, at most 64 KiB.
    ///   - url: The service's own address, as devices know it: the signature covers it.
    /// - Throws: `argument` when it is not a login; `identity` when it is not signed by its key for this
    ///   service.
    public init(body: Data, url: String) throws {
      let (request, address) = try translatingErrors {
        (try LoginRequest(json: Array(body)), try HTTPSAddress(url))
      }
      guard request.isSigned(for: address) else {
        throw DunlinError(.identity, "the login is not signed by its device key for \(address)")
      }
      appID = request.application
      provider = request.provider
      token = request.token
      deviceKey = "\(request.deviceKey)"
      challenge = request.challenge
    }
  }

  extension DunlinAuthority {
    /// Issues a certificate for a login, and makes the answer to it.
    ///
    /// - Parameters:
    ///   - request: The login, whose token and challenge the service has verified.
    ///   - user: The user that the token identifies, 1 to 128 bytes.
    ///   - validity: The certificate's period; start it some minutes ago, since clocks differ.
    ///   - clientInfo: JSON for the application on the device.
    /// - Returns: The body of the answer with status 200 and the type `application/json`.
    /// - Throws: `identity` when the login is for another application or a text is too long; `argument` when
    ///   `clientInfo` is not JSON.
    public func answer(
      to request: DunlinLoginRequest, user: String?, validity: Range<Date>, clientInfo: String? = nil
    ) throws -> Data {
      guard request.appID == appID else {
        throw DunlinError(.identity, "the login is for \(request.appID), and the authority for \(appID)")
      }
      var fields: [TextKey: Value] = [
        "certificate": .string(
          try issueForLogin(deviceKey: request.deviceKey, user: user, validity: validity)),
        "authority": .string(try certificate),
      ]
      if let clientInfo {
        do {
          fields["clientInfo"] = try JSON.parse(clientInfo)
        } catch {
          throw DunlinError(.argument, "what is said to the application is no JSON", underlying: error)
        }
      }
      return Data(JSON.text(of: .map(fields)).utf8)
    }
  }
#endif
