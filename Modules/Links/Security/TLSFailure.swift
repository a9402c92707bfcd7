#if TLS
  import Foundation

  /// Reports of the TLS library in words for a log.
  ///
  /// The address of the other end precedes them.
  enum TLSFailure {
    /// The library's names of input that is not TLS.
    static let notTLS = ["WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_RECORD", "INVALID_TLS_RECORD"]

    /// Names in the library's report, and their meaning here.
    private static let meanings: [(names: [String], text: String)] = [
      (notTLS, "does not speak TLS, and this peer does: they have different kinds of identity"),
      (["UNSUPPORTED_PROTOCOL", "PROTOCOL_VERSION"], "speaks another version of TLS than 1.3"),
      (disbelief, "does not believe this device's certificate; its log says why"),
      (["PEER_DID_NOT_RETURN_A_CERTIFICATE"], "shows no certificate"),
    ]

    /// The library's names of the alert that the other end refuses this end's certificate.
    private static let disbelief = [
      "ALERT_CERTIFICATE", "ALERT_BAD_CERTIFICATE", "ALERT_UNKNOWN_CA", "ALERT_UNSUPPORTED_CERTIFICATE",
    ]

    /// Why TLS between two peers failed.
    ///
    /// - Parameters:
    ///   - error: An error of the TLS library.
    ///   - hasSharedKey: Whether this peer proves that it belongs to the application by a shared key.
    /// - Returns: What the other end does, in words that follow its address.
    static func reason(_ error: any Error, hasSharedKey: Bool) -> String {
      let report = "\(error)"
      if hasSharedKey, disbelief.contains(where: { report.contains($0) }) {
        return "does not accept this peer: both need the same shared key and the same application id"
      }
      let meaning = meanings.first { meaning in meaning.names.contains { report.contains($0) } }
      return meaning?.text ?? "broke off TLS: \(name(in: report))"
    }

    /// The library's name of the fault, without locations in its source.
    static func name(in report: String) -> Substring {
      guard let mark = report.range(of: "OPENSSL_internal:") else { return report.prefix(120) }
      return report[mark.upperBound...].prefix { $0 != " " }
    }
  }
#endif
