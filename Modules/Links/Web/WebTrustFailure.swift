#if TLS
  import Foundation
  import NIOSSL
  import SwiftASN1
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
    ///   - tls: What speaks TLS with the service, and has its certificate; used on its event loop.
    ///   - now: The time.
    init(_ error: any Error, over tls: NIOSSLClientHandler?, now: Date = Date()) {
      let presented = (try? tls?.peerCertificate?.toDERBytes()).flatMap { try? Certificate(derEncoded: $0) }
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
      WebError(.untrusted, "\(address) is not trusted: \(reason(for: address.host))")
    }

    /// The reason, in words that follow the service's address and a colon.
    ///
    /// - Parameter host: The name or address by which the service was asked for.
    /// - Returns: What is wrong.
    func reason(for host: String) -> String {
      if isForAnotherName { return "its certificate is not for the name \(host)" }
      guard report.contains("CERTIFICATE_VERIFY_FAILED") else {
        return TLSFailure.notTLS.contains { report.contains($0) }
          ? "it does not speak TLS"
          : report.contains("PROTOCOL_VERSION")
            ? "it speaks no version of TLS from 1.2 on" : "TLS failed (\(TLSFailure.name(in: report)))"
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
