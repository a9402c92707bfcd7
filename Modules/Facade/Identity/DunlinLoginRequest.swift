#if TLS
  import CRDTCore
  public import Foundation
  import Transports

  /// What a device has sent to a login service, for who writes one in Swift: its signature is verified, its token is not.
  ///
  /// The service sees to the rest: that the challenge is one that it sent lately and that nobody has answered yet, and that the token is good.
  public struct DunlinLoginRequest: Sendable {
    /// The application's id.
    public let appID: String
    /// How the token is to be verified.
    public let provider: String
    /// What says who the user is.
    public let token: String
    /// The device's public key, which has signed the request.
    public let deviceKey: String
    /// What the service has sent to the device just before.
    public let challenge: String

    /// Reads the body of a request to `…/login`.
    ///
    /// - Parameters:
    ///   - body: The bytes, at most 64 KiB of them.
    ///   - url: The service's own address, as devices are told it: the signature is for that.
    /// - Throws: `argument` when it is no login; `identity` when it is not signed by its key for this service.
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
    /// Issues a certificate for a login, and makes the answer of it.
    ///
    /// - Parameters:
    ///   - request: The login, whose token and challenge are found to be good.
    ///   - user: The user that the token stands for, 1 to 128 bytes.
    ///   - validity: From when and until when the certificate holds; from some minutes ago, since clocks differ.
    ///   - clientInfo: JSON for the application at the device.
    /// - Returns: The body of the answer with status 200, of the type `application/json`.
    /// - Throws: `identity` when the login is for another application or a text is too long; `argument` when the information is no JSON.
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
