#if Server
  import Links

  /// Delivers to webhooks, and only to addresses that are allowed.
  struct WebhookClient: Sendable {
    private let allowsPrivateAddresses: Bool
    private let http: HTTPSClient

    /// - Parameters:
    ///   - allowsPrivateAddresses: Whether addresses of this machine and of private networks are allowed,
    ///     also without TLS.
    ///   - authorityFile: The file with the trusted authorities (PEM); `nil` uses the system's.
    ///   - limit: The maximum time of a delivery.
    init(allowsPrivateAddresses: Bool, authorityFile: String?, limit: Duration) {
      self.allowsPrivateAddresses = allowsPrivateAddresses
      var http = HTTPSClient(authorityFile: authorityFile)
      (http.limits.connecting, http.limits.answering) = (limit, limit)
      // The status contains all that is needed.
      http.readsBody = false
      self.http = http
    }

    /// Sends a request, and waits until it is acknowledged.
    ///
    /// - Throws: `WebhookFailure` for anything but a status of 200 to 299, and `CancellationError`.
    func post(_ body: [UInt8], headers: [(name: String, value: String)], to address: WebhookAddress)
      async throws
    {
      var http = http
      let (web, allowsPrivate) = (address.web, allowsPrivateAddresses)
      http.admits = { place in
        let isPublic = AddressPolicy.isPublic(place)
        return web.isPlain ? !isPublic && allowsPrivate : isPublic || allowsPrivate
      }
      let usual = [(name: "User-Agent", value: "dunlin-bigpeer"), (name: "Accept", value: "*/*")]
      let answer: HTTPSAnswer
      do throws(WebError) {
        answer = try await http.post(body, headers: usual + headers, to: web)
      } catch {
        switch error.code {
        case .cancelled: throw CancellationError()
        case .notAdmitted where web.isPlain:
          throw WebhookFailure("\(web.host) leads to an address that is not private, where TLS is needed")
        case .notAdmitted:
          throw WebhookFailure(
            "\(web.host) leads to an address of a private network, where webhooks are with feed.allowPrivateAddresses alone"
          )
        default: throw WebhookFailure(error.publicMessage, logged: error.message)
        }
      }
      switch answer.status {
      case 200..<300: return
      case 300..<400:
        throw WebhookFailure(
          "\(web) redirects (status \(answer.status)), and redirects are not followed")
      case 410: throw WebhookFailure("\(web) is gone (status 410)", isGone: true)
      default:
        throw WebhookFailure(
          "\(web) answers with status \(answer.status)", retryAfter: answer.retryAfter,
          isTooLarge: answer.status == 413)
      }
    }
  }
#endif
