#if TLS
  import Foundation

  /// Reports of the TLS library in words for a log.
  ///
  /// The address of the other end precedes them.
  enum TLSFailure {
    /// Names in the library's report, and their meaning here.
    private static let meanings: [(names: [String], text: String)] = [
      (
        ["WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_RECORD", "INVALID_TLS_RECORD"],
        "does not speak TLS, and this peer does: they have different kinds of identity"
      ),
      (["UNSUPPORTED_PROTOCOL", "PROTOCOL_VERSION"], "speaks another version of TLS than 1.3"),
      (
        ["ALERT_CERTIFICATE", "ALERT_BAD_CERTIFICATE", "ALERT_UNKNOWN_CA", "ALERT_UNSUPPORTED_CERTIFICATE"],
        "does not believe this device's certificate; its log says why"
      ),
      (["PEER_DID_NOT_RETURN_A_CERTIFICATE"], "shows no certificate"),
    ]

    static func reason(_ error: any Error) -> String {
      let report = "\(error)"
      let meaning = meanings.first { meaning in meaning.names.contains { report.contains($0) } }
      return meaning?.text ?? "broke off TLS: \(name(in: report))"
    }

    /// The library's name of the fault, without locations in its source.
    private static func name(in report: String) -> Substring {
      guard let mark = report.range(of: "OPENSSL_internal:") else { return report.prefix(120) }
      return report[mark.upperBound...].prefix { $0 != " " }
    }
  }
#endif
