#if TLS
  import Foundation
  import NIOSSL
  import X509

  /// Why TLS with a web service failed, in words that say what to do.
  struct WebTrustFailure {
    private let report: String
    private let isForAnotherName: Bool
    /// The validity of the service's certificate, if it has presented one; the end may precede the start.
    private let validity: (start: Date, end: Date)?
    private let now: Date

    /// Takes an error of the TLS library.
    ///
    /// - Parameters:
    ///   - error: The error.
    ///   - presented: The service's certificate, if it has presented one.
    ///   - now: The time.
    init(_ error: any Error, presented: Certificate?, now: Date = Date()) {
      self.init(
        report: "\(error)", isForAnotherName: (error as? NIOSSLExtraError) == .failedToValidateHostname,
        validity: presented.map { ($0.notValidBefore, $0.notValidAfter) }, now: now)
    }

    init(report: String, isForAnotherName: Bool, validity: (start: Date, end: Date)?, now: Date) {
      self.report = report
      self.isForAnotherName = isForAnotherName
      self.validity = validity
      self.now = now
    }

    func error(at address: HTTPSAddress) -> WebError {
      WebError(.untrusted, "\(address) is not trusted: \(reason(address))")
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
      if let validity, now < validity.start || now > validity.end {
        return
          "its certificate is valid from \(text(validity.start)) until \(text(validity.end)), and the clock here says \(text(now))"
      }
      return
        "its certificate was not issued by an authority that is trusted here, or is not valid now; the clock here says \(text(now))"
    }

    private func text(_ date: Date) -> String { date.timeText }
  }
#endif
