#if TLS
  import Foundation
  import NIOSSL
  import X509

  /// Why TLS with a web service has failed, in words that say what to do.
  struct WebTrustFailure {
    private let report: String
    private let isForAnotherName: Bool
    private let presented: Certificate?
    private let now: Date

    /// Takes what the TLS library reports.
    ///
    /// - Parameters:
    ///   - error: Its error.
    ///   - presented: The service's certificate, where it has shown one.
    ///   - now: The time.
    init(_ error: any Error, presented: Certificate?, now: Date = Date()) {
      report = "\(error)"
      isForAnotherName = (error as? NIOSSLExtraError) == .failedToValidateHostname
      self.presented = presented
      self.now = now
    }

    func error(at address: HTTPSAddress) -> LoginError {
      LoginError(.untrusted, "\(address) is not trusted: \(reason(address))")
    }

    private func reason(_ address: HTTPSAddress) -> String {
      if isForAnotherName { return "its certificate is not for the name \(address.host)" }
      guard report.contains("CERTIFICATE_VERIFY_FAILED") else {
        return ["WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_RECORD", "INVALID_TLS_RECORD"]
          .contains { report.contains($0) }
          ? "it does not speak TLS"
          : report.contains("PROTOCOL_VERSION")
            ? "it speaks no version of TLS from 1.2 on" : "TLS failed (\(report))"
      }
      if let presented, !(presented.notValidBefore...presented.notValidAfter).contains(now) {
        return
          "its certificate is valid from \(text(presented.notValidBefore)) until \(text(presented.notValidAfter)), and the clock here says \(text(now))"
      }
      return
        "its certificate was not issued by an authority that is trusted here, or is not valid now; the clock here says \(text(now))"
    }

    private func text(_ date: Date) -> String { date.formatted(.iso8601) }
  }
#endif
